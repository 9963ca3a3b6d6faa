package rest

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
)

type UserView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Operator  bool   `json:"operator"`
	CreatedAt string `json:"created_at,omitempty"`
}

func viewUser(u store.User) UserView {
	return UserView{u.ID, u.Name, u.Operator, stampOrNone(u.CreatedAt)}
}

// Me says who asks.
func (s users) Me(c *fiber.Ctx) error {
	return c.JSON(fiber.Map{"user": viewUser(caller.Of(c).User), "version": s.cfg.Version})
}

// List lists the users, oldest first.
func (s users) List(c *fiber.Ctx) error {
	users, err := s.cfg.Records.Users.List(s.cfg.Context, caller.Of(c).Principal)
	if err = s.readable(err); err != nil {
		return err
	}
	views := make([]UserView, 0, len(users))
	for _, u := range users {
		views = append(views, viewUser(u))
	}
	return c.JSON(fiber.Map{"users": views})
}

// Post adds a user.
func (s users) Post(c *fiber.Ctx) error {
	var b struct {
		Name     string `json:"name"`
		Operator bool   `json:"operator"`
	}
	if err := readJSON(c, &b); err != nil {
		return err
	}
	user, err := s.cfg.Records.Users.Create(s.cfg.Context, caller.Of(c).Principal, b.Name, b.Operator)
	switch {
	case errors.Is(err, store.ErrInvalid):
		return fault.New(fault.Invalid, "A user's name is 1 to 64 letters, digits and any of . _ - @.")
	case errors.Is(err, store.ErrExists):
		return fault.New(fault.Conflict, "There is a user of that name already.")
	case err != nil:
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(fiber.Map{"user": viewUser(user)})
}

// userOf returns the user of the address to one who may do the action to any user, so that
// nobody else learns which names there are.
func (s users) userOf(c *fiber.Ctx, a identity.Action) (store.User, error) {
	if err := identity.Authorize(caller.Of(c).Principal, a, identity.UserKind.All()); err != nil {
		return store.User{}, err
	}
	user, err := s.cfg.Records.Users.ByName(s.cfg.Context, c.Params("name"))
	if errors.Is(err, store.ErrNotFound) {
		return user, fault.Of(fault.UnknownUser)
	}
	return user, err
}

// PostLink makes a one-time sign-in link.
func (s users) PostLink(c *fiber.Ctx) error {
	user, err := s.userOf(c, identity.LinkUser)
	if err != nil {
		return err
	}
	l, err := s.Link(s.cfg.Context, caller.Of(c).Principal, user)
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(l)
}

// removals is how often a user is removed again who began a run meanwhile: with a request
// that was let in before the user was signed out.
const removals = 5

// removeUser removes the user's records. A user with live runs is signed out first, so that
// no more begin, and the runs are stopped.
func (s users) removeUser(p identity.Principal, user string) (err error) {
	for range removals {
		if err = s.cfg.Records.Users.Remove(s.cfg.Context, p, user); !errors.Is(err, store.ErrBusy) {
			return err
		}
		if err := s.cfg.Records.SignIns.RevokeUser(s.cfg.Context, p, user); err != nil {
			return err
		}
		s.signedOut(user)
		if err := s.cfg.Turns.StopAll(s.cfg.Context, p, user); err != nil {
			return err
		}
	}
	return err
}

// signedOut closes the sockets of a user whose cookies are not valid any more.
func (s users) signedOut(user string) {
	s.cfg.CloseSockets(func(k caller.Caller) bool { return k.UserID() == user })
}

// Delete removes a user and all that is theirs. Their live runs are stopped, and their
// documents leave the index too.
func (s users) Delete(c *fiber.Ctx) error {
	user, err := s.userOf(c, identity.RemoveUser)
	if err != nil {
		return err
	}
	if err := s.removeUser(caller.Of(c).Principal, user.ID); err != nil {
		return err
	}
	s.signedOut(user.ID)
	// A removed user's id never comes back, so what is left where this fails is found by
	// nobody.
	if err := s.cfg.Plugins.ForgetUser(s.cfg.Context, caller.Of(c).Principal, user.ID); err != nil {
		s.cfg.Logger.Error("delete what plugins keep for a removed user", "error", err)
	}
	// The user is gone, and nobody finds what is left of them in the index; the
	// next start drops it where this fails.
	if _, err := s.cfg.Knowledge.Reindex(s.cfg.Context, caller.Of(c).Principal); err != nil {
		s.cfg.Logger.Error("drop a removed user's documents from the index", "error", err)
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// linkLifetime is how long a sign-in link is good for.
const linkLifetime = 24 * time.Hour

// Link makes a one-time sign-in link for a user. It is for operators and the host.
func (s users) Link(ctx context.Context, p identity.Principal, user store.User) (Link, error) {
	token, expires, err := s.cfg.Records.SignIns.CreateLink(ctx, p, user.ID, linkLifetime)
	if err != nil {
		return Link{}, err
	}
	return Link{URL: s.cfg.BaseURL + "/sign-in?token=" + token, ExpiresAt: expires}, nil
}

// Link is a one-time sign-in link.
type Link struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}
