package api

import (
	"errors"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
)

type userView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Operator  bool   `json:"operator"`
	CreatedAt string `json:"created_at,omitempty"`
}

func viewUser(u store.User) userView {
	return userView{u.ID, u.Name, u.Operator, stampOrNone(u.CreatedAt)}
}

// me says who asks.
func (s *Server) me(c *fiber.Ctx) error {
	return c.JSON(fiber.Map{"user": viewUser(whoOf(c).user), "version": s.cfg.Version})
}

// listUsers lists the users, oldest first.
func (s *Server) listUsers(c *fiber.Ctx) error {
	users, err := s.cfg.Store.Users().List(s.ctx, whoOf(c).Principal)
	if err = s.readable(err); err != nil {
		return err
	}
	views := make([]userView, 0, len(users))
	for _, u := range users {
		views = append(views, viewUser(u))
	}
	return c.JSON(fiber.Map{"users": views})
}

// postUser adds a user.
func (s *Server) postUser(c *fiber.Ctx) error {
	var b struct {
		Name     string `json:"name"`
		Operator bool   `json:"operator"`
	}
	if err := readJSON(c, &b); err != nil {
		return err
	}
	user, err := s.cfg.Store.Users().Create(s.ctx, whoOf(c).Principal, b.Name, b.Operator)
	switch {
	case errors.Is(err, store.ErrInvalid):
		return invalid("A user's name is 1 to 64 letters, digits and any of . _ - @.")
	case errors.Is(err, store.ErrExists):
		return fault.New(fault.Conflict, "There is a user of that name already.")
	case err != nil:
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(fiber.Map{"user": viewUser(user)})
}

// userOf returns the user of the address to one who may do the action to any user, so that
// nobody else learns which names there are.
func (s *Server) userOf(c *fiber.Ctx, a identity.Action) (store.User, error) {
	if err := identity.Authorize(whoOf(c).Principal, a, identity.UserKind.All()); err != nil {
		return store.User{}, err
	}
	user, err := s.cfg.Store.Users().ByName(s.ctx, c.Params("name"))
	if errors.Is(err, store.ErrNotFound) {
		return user, fault.Of(fault.UnknownUser)
	}
	return user, err
}

// postLink makes a one-time sign-in link.
func (s *Server) postLink(c *fiber.Ctx) error {
	user, err := s.userOf(c, identity.LinkUser)
	if err != nil {
		return err
	}
	l, err := s.Link(s.ctx, whoOf(c).Principal, user)
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
func (s *Server) removeUser(p identity.Principal, user string) (err error) {
	for range removals {
		if err = s.cfg.Store.Users().Remove(s.ctx, p, user); !errors.Is(err, store.ErrBusy) {
			return err
		}
		if err := s.cfg.Store.SignIns().RevokeUser(s.ctx, p, user); err != nil {
			return err
		}
		s.signedOut(user)
		if err := s.cfg.Turns.StopAll(s.ctx, p, user); err != nil {
			return err
		}
	}
	return err
}

// signedOut closes the sockets of a user whose cookies are not valid any more.
func (s *Server) signedOut(user string) {
	s.closeSockets(func(k caller) bool { return k.UserID() == user })
}

// deleteUser removes a user and all that is theirs. Their live runs are stopped, and their
// documents leave the index too.
func (s *Server) deleteUser(c *fiber.Ctx) error {
	user, err := s.userOf(c, identity.RemoveUser)
	if err != nil {
		return err
	}
	if err := s.removeUser(whoOf(c).Principal, user.ID); err != nil {
		return err
	}
	s.signedOut(user.ID)
	// A removed user's id never comes back, so what is left where this fails is found by
	// nobody.
	if err := s.cfg.Plugins.ForgetUser(s.ctx, whoOf(c).Principal, user.ID); err != nil {
		s.cfg.Logger.Error("delete what plugins keep for a removed user", "error", err)
	}
	// The user is gone, and nobody finds what is left of them in the index; the
	// next start drops it where this fails.
	if _, err := s.cfg.Knowledge.Reindex(s.ctx, whoOf(c).Principal); err != nil {
		s.cfg.Logger.Error("drop a removed user's documents from the index", "error", err)
	}
	return c.SendStatus(fiber.StatusNoContent)
}
