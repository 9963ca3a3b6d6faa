package plugin

import (
	"context"
	"sync"
	"time"
)

// The pause after a list that a plugin announced. It doubles with each such list and halves
// with each pause of that length in which nothing was announced.
const (
	leastPause = time.Second
	mostPause  = time.Minute
)

// announcements are what a plugin says of its own list of tools. However many come, one is
// kept, and one goroutine makes the lists. It is safe for concurrent use.
type announcements struct {
	// last holds the announcement that no list was begun after.
	last chan struct{}
	// mu guards followed: whether there is a goroutine that makes the lists.
	mu       sync.Mutex
	followed bool
}

func newAnnouncements() *announcements { return &announcements{last: make(chan struct{}, 1)} }

// add keeps an announcement. follow tells the caller that nobody makes the lists yet, and
// that the caller does now.
func (a *announcements) add() (follow bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keep()
	follow = !a.followed
	a.followed = true
	return follow
}

// keep keeps an announcement for who makes the lists already.
func (a *announcements) keep() {
	select {
	case a.last <- struct{}{}:
	default: // the one that waits says the same
	}
}

// leave ends the making of lists, unless an announcement came meanwhile.
func (a *announcements) leave() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.last) > 0 {
		return false
	}
	a.followed = false
	return true
}

// refresh lists the tools of a plugin again in the background, because it says that they
// have changed.
func (m *Manager) refresh(p *installed) {
	if !p.manifest.Dynamic || !p.announced.add() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.background.Go(func() { m.follow(m.life, p) })
	}
}

// follow makes the lists that a plugin announces until it has been quiet, or ctx is done. A
// list begins after every announcement, but only when the pause after the one before is over.
func (m *Manager) follow(ctx context.Context, p *installed) {
	for pause := leastPause; ; {
		quiet := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			quiet.Stop()
			return
		case <-p.announced.last:
			quiet.Stop()
			m.listAnnounced(ctx, p)
			if !rest(ctx, pause) {
				return
			}
			pause = min(2*pause, mostPause)
		case <-quiet.C:
			if pause = max(pause/2, leastPause); pause == leastPause && p.announced.leave() {
				return
			}
		}
	}
}

// listAnnounced makes one list. Its error goes to the log, since nobody waits for it.
func (m *Manager) listAnnounced(ctx context.Context, p *installed) {
	if err := m.relist(ctx, p, false); err != nil && ctx.Err() == nil {
		m.config.Logger.Warn("the tools of a plugin stay as they were", "plugin", p.record.Name, "error", err)
	}
}

// rest waits, and reports whether ctx is not done yet.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
