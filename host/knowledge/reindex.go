package knowledge

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// Reindexed counts what Reindex did, in documents.
type Reindexed struct {
	Checked, Indexed, Removed int
}

// Reindex makes the index agree with the stored documents of all users. It
// writes nothing where they agree. A record that cannot be read is logged and
// left alone, its passages with it. It is for operators and the host.
func (b *Base) Reindex(ctx context.Context, p identity.Principal) (Reindexed, error) {
	var sum Reindexed
	if err := identity.Authorize(p, identity.IndexDocuments, identity.DocumentKind.All()); err != nil {
		return sum, fmt.Errorf("reindex: %w", err)
	}
	done, err := b.lock(ctx)
	if err != nil {
		return sum, err
	}
	defer done()
	users, err := b.people.List(ctx, identity.ForHost("index documents"))
	if err != nil {
		return sum, fmt.Errorf("reindex: %w", err)
	}
	stored := map[string]bool{}
	whole := true
	for _, u := range users {
		p := identity.ForUser(u.ID, "index documents")
		records, err := b.documents.List(ctx, p)
		if err != nil {
			if ctx.Err() != nil {
				return sum, ctx.Err()
			}
			whole = false
			b.log.Error("documents cannot all be read", "user", u.ID, "error", err)
		}
		for _, r := range records {
			stored[r.ID] = true
			sum.Checked++
			did, err := b.refresh(ctx, p, r)
			if err != nil {
				return sum, fmt.Errorf("reindex %q: %w", r.URI, err)
			}
			if did {
				sum.Indexed++
			}
		}
	}
	if !whole {
		return sum, nil
	}
	sum.Removed, err = b.clear(stored)
	return sum, err
}

// refresh indexes a document from its stored text unless the index has it.
func (b *Base) refresh(ctx context.Context, p identity.Principal, r store.DocumentRecord) (bool, error) {
	have, ok, err := b.index.Stamp(r.ID)
	if err != nil {
		return false, err
	}
	if ok && have == stamp(r) {
		return false, nil
	}
	text, err := b.documents.Text(ctx, p, r.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil // removed meanwhile
	}
	if err != nil {
		return false, err
	}
	return true, b.index.Put(indexed(r), passages(string(text), format(r)))
}

// clear removes from the index what is not stored.
func (b *Base) clear(stored map[string]bool) (int, error) {
	ids, err := b.index.IDs()
	if err != nil {
		return 0, err
	}
	n := 0
	for _, id := range ids {
		if stored[id] {
			continue
		}
		if err := b.index.Delete(id); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
