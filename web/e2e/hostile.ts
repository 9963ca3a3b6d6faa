/**
 * A hundred messages that try to load something, to run something, or to break
 * out of where a message is drawn. They are generated, so that each trick comes
 * in each place where it could work.
 */

/** Where everything foreign would come from. Nothing answers there. */
export const FOREIGN = 'https://foreign.invalid';
/** What a script that ran would leave behind. */
const RAN = 'document.title=`ran`;window.ran=1';

const TAGS = [
  `<script>${RAN}</script>`,
  `<script src="${FOREIGN}/s.js"></script>`,
  `<img src="${FOREIGN}/i.png" onerror="${RAN}">`,
  `<img src=x onerror=${RAN}//`,
  `<svg onload="${RAN}"><image href="${FOREIGN}/svg.png"/></svg>`,
  `<svg><script>${RAN}</script><use href="${FOREIGN}/u.svg#x"/></svg>`,
  `<iframe src="javascript:${RAN}"></iframe>`,
  `<iframe srcdoc="<script>parent.ran=1</script>"></iframe>`,
  `<object data="${FOREIGN}/o"></object><embed src="${FOREIGN}/e">`,
  `<form action="${FOREIGN}/f"><input name=q autofocus onfocus="${RAN}"><button>Send</button></form>`,
  `<style>@import "${FOREIGN}/s.css"; body{background:url(${FOREIGN}/b.png)}</style>`,
  `<link rel=stylesheet href="${FOREIGN}/l.css"><link rel=prefetch href="${FOREIGN}/p">`,
  `<meta http-equiv=refresh content="0;url=${FOREIGN}/m">`,
  `<base href="${FOREIGN}/">`,
  `<video src="${FOREIGN}/v.mp4" autoplay poster="${FOREIGN}/p.png"></video><audio src="${FOREIGN}/a" autoplay></audio>`,
  `<details open ontoggle="${RAN}"><summary>x</summary></details>`,
  `<a href="javascript:${RAN}" style="position:fixed;inset:0">all over</a>`,
  `<math><mtext><table><mglyph><style><img src=x onerror="${RAN}"></style></mglyph></table></mtext></math>`,
  `<noscript><p title="</noscript><img src=x onerror=${RAN}>"></noscript>`,
  `<template><img src="${FOREIGN}/t.png"></template><body onload="${RAN}">`,
  `<div style="background:url(${FOREIGN}/d.png)" onmouseover="${RAN}">hover</div>`,
  `<!--><img src=x onerror="${RAN}">-->`,
];

const LINKS = [
  `![pixel](${FOREIGN}/pixel.png)`,
  `[![badge](${FOREIGN}/badge.svg)](javascript:${encodeURIComponent(RAN)})`,
  `![x][ref]\n\n[ref]: ${FOREIGN}/ref.png "onerror=alert(1)"`,
  `[a](javascript:window.ran=1) [b](JaVaScRiPt:window.ran=1) [c](java\tscript:window.ran=1) [d](&#106;avascript:window.ran=1)`,
  `[e](data:text/html;base64,PHNjcmlwdD5wYXJlbnQucmFuPTE8L3NjcmlwdD4=) ![f](data:image/svg+xml,%3Csvg%20onload=window.ran=1%3E)`,
  `[g](vbscript:x) [h](file:///etc/passwd) [i](blob:${FOREIGN}/x) [j](//foreign.invalid/k) [k](/api/v1/sign-out)`,
  `<javascript:window.ran=1> <${FOREIGN}/auto> ${FOREIGN}/bare`,
  `[x](${FOREIGN}/"onmouseover="window.ran=1) [y](<${FOREIGN}/" onclick="window.ran=1>)`,
  `[t](${FOREIGN} "\\" onfocus=window.ran=1 autofocus x=\\"")`,
];

const CODE = [
  '```"><img src=x onerror=window.ran=1>\ntext\n```',
  '```html\n<script>window.ran=1</script><img src=x onerror=window.ran=1>\n```',
  `\`\`\`javascript\n${'"'.repeat(3000)}\n${'/*'.repeat(3000)}\n\`\`\``,
  `\`\`\`python\n${'f"{'.repeat(2000)}\n${"'''".repeat(2000)}\n\`\`\``,
  `\`\`\`xml\n${'<a b="'.repeat(2500)}\n\`\`\``,
  `\`\`\`bash\n${'$('.repeat(4000)}\n\`\`\``,
  `\`\`\`cpp\n${'R"('.repeat(3000)}\n${'template<'.repeat(1500)}\n\`\`\``,
  `\`\`\`sql\n${"('".repeat(4000)}\n\`\`\``,
  '```__proto__\nx\n```\n\n```constructor\nx\n```\n\n```toString\nx\n```',
];

const MATH = [
  `$\\href{javascript:window.ran=1}{x}$ and $\\url{${FOREIGN}/u}$`,
  `$$\\includegraphics{${FOREIGN}/i.png}$$`,
  `$\\htmlStyle{background:url(${FOREIGN}/h.png)}{x}$ $\\htmlData{cite=1}{y}$ $\\htmlClass{chip}{z}$ $\\htmlId{composer}{w}$`,
  '$$\\def\\a{\\a\\a}\\a$$',
  `$$${'\\def\\b#1{#1#1#1#1}'}${'\\b{'.repeat(12)}x${'}'.repeat(12)}$$`,
  `$$${'{'.repeat(400)}$$`,
  `$\\rule{99999em}{99999em}$ $\\kern{99999em}$ $\\raisebox{-9999em}{up}$`,
  '$<img src=x onerror=window.ran=1>$ \\(</span><script>window.ran=1</script>\\)',
  `${'$a '.repeat(5000)}`,
  `${'\\frac{'.repeat(300)}`,
];

const SHAPE = [
  `${'> '.repeat(3000)}deep`,
  `${'- '.repeat(1500)}deep`,
  `${'['.repeat(5000)}${']('.repeat(500)}`,
  `${'*_'.repeat(4000)}x`,
  `${'`'.repeat(4000)}`,
  `|${'a|'.repeat(400)}\n|${'-|'.repeat(400)}\n|${'b|'.repeat(400)}`,
  `${'&#x3c;script&#x3e;window.ran=1&#x3c;/script&#x3e; '.repeat(20)}`,
  '\u202Egnp.exe\u202C \u200B\u200D\uFEFF \u2066<script>\u2069 a\u0300\u0301\u0302\u0303'.repeat(20),
  `${'Z' + '\u0353\u0349\u034D'.repeat(400)}`,
  '\u0000\u0001\u001b[31m\uFFFF\uFFFE <scr\u0000ipt>window.ran=1</scr\u0000ipt>',
  'w'.repeat(20000),
  '[[1]] [[2]] [[9999]] [[<img src=x onerror=window.ran=1>]] <button data-cite="1">fake</button> <button data-copy>fake</button>',
  '<div id="composer"></div><a name="app"></a><form id="app"></form><img name="body">',
];

/** Puts a trick where Markdown may treat it another way. */
const PLACES: ((trick: string) => string)[] = [
  (t) => t,
  (t) => `Some words. ${t} More words.`,
  (t) => `> quoted\n> ${t.replaceAll('\n', '\n> ')}`,
  (t) => `1. item\n\n   ${t.replaceAll('\n', '\n   ')}`,
  (t) => `| a | b |\n|---|---|\n| ${t.replaceAll('\n', ' ').replaceAll('|', '\\|')} | x |`,
  (t) => `# ${t.replaceAll('\n', ' ')}`,
];

/** The messages; each ends with a mark by which a test sees that it was drawn to its end. */
export const HOSTILE_MESSAGES: string[] = [...TAGS, ...LINKS, ...CODE, ...MATH, ...SHAPE, ...TAGS, ...LINKS, ...TAGS]
  .slice(0, 100)
  .map((trick, i) => {
    const round = i < TAGS.length + LINKS.length + CODE.length + MATH.length + SHAPE.length ? 0 : 1 + (i % (PLACES.length - 1));
    const place = PLACES[round] ?? ((t: string) => t);
    return `${place(trick)}\n\n\`end ${i + 1}\``;
  });
