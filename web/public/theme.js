// Runs before the first paint, so that a chosen theme does not flash. It stands
// in a file of its own because the page's policy allows no inline script.
(function () {
  try {
    var chosen = localStorage.getItem('bulkhead.theme');
    if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
  } catch (e) {
    // Storage is off: the system's preference stands.
  }
})();
