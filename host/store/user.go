package store

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// OwnerName is the name of the operator whom the first start creates.
const OwnerName = "owner"

// ErrLastOperator is returned when the only operator would be removed.
var ErrLastOperator = errors.New("this is the only operator, and one must remain")

// User is a person who can sign in.
type User struct {
	ID string `json:"id"`
	// Name is unique without regard to case: 1 to 64 letters, digits and any of
	// . _ - @
	Name      string    `json:"name"`
	Operator  bool      `json:"operator,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// Principal returns who the user is when they ask by way of origin.
func (u User) Principal(origin identity.Origin) identity.Principal {
	var roles []identity.Role
	if u.Operator {
		roles = append(roles, identity.Operator)
	}
	return identity.New(identity.Account{ID: u.ID, Roles: roles}, origin)
}

// Create adds a user, for an operator or the host. It returns ErrExists when the
// name is taken and ErrInvalid when it is not a name.
func (s Users) Create(ctx context.Context, p identity.Principal, name string, operator bool) (User, error) {
	if err := may(p, identity.CreateUser, identity.UserKind.All()); err != nil {
		return User{}, err
	}
	var user User
	err := s.update(ctx, func(tx kv.Tx) (err error) {
		user, err = s.create(tx, name, operator)
		return err
	})
	return user, err
}

func (s Users) create(tx kv.Tx, name string, operator bool) (User, error) {
	if !validName(name) {
		return User{}, invalid("a user's name is 1 to 64 letters, digits and . _ - @")
	}
	if table.UserNames.Has(tx, strings.ToLower(name)) {
		return User{}, ErrExists
	}
	user := User{ID: s.newID("u"), Name: name, Operator: operator, CreatedAt: s.clock()}
	if err := table.Users.Put(tx, user.ID, user); err != nil {
		return User{}, err
	}
	return user, table.UserNames.PutRaw(tx, strings.ToLower(name), []byte(user.ID))
}

func validName(name string) bool {
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > 64 {
		return false
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-@", r) {
			return false
		}
	}
	return true
}

// List returns all users, oldest first. It is for operators and the host. Records that
// cannot be read are left out and named in the error.
func (s Users) List(ctx context.Context, p identity.Principal) ([]User, error) {
	var users []User
	var bad []error
	err := s.view(ctx, func(tx kv.Tx) error {
		if err := may(p, identity.ListUsers, identity.UserKind.All()); err != nil {
			return err
		}
		table.Users.Scan(tx, "", func(key string, data []byte) bool {
			user, err := table.Decode[User](table.Users, key, data)
			if err != nil {
				bad = append(bad, err)
			} else {
				users = append(users, user)
			}
			return true
		})
		return nil
	})
	return users, errors.Join(append(bad, err)...)
}

// Get returns a user by id, or ErrNotFound. It takes no Principal: it is what
// those use who establish one.
func (s Users) Get(ctx context.Context, id string) (User, error) {
	var user User
	err := s.view(ctx, func(tx kv.Tx) (err error) {
		user, err = userByID(tx, id)
		return err
	})
	return user, err
}

// ByName returns a user by name, without regard to case, or ErrNotFound. It
// takes no Principal, as User does not.
func (s Users) ByName(ctx context.Context, name string) (User, error) {
	var user User
	err := s.view(ctx, func(tx kv.Tx) (err error) {
		id := table.UserNames.Text(tx, strings.ToLower(name))
		if id == "" {
			return notFound("user", name)
		}
		user, err = userByID(tx, id)
		return err
	})
	return user, err
}

func userByID(tx kv.Tx, id string) (User, error) {
	user, err := table.Get[User](tx, table.Users, id)
	if err == ErrNotFound {
		return User{}, notFound("user", id)
	}
	return user, err
}

// EnsureOwner returns the operator "owner" and creates them if they do not
// exist.
func (s Users) EnsureOwner(ctx context.Context) (user User, created bool, err error) {
	if user, err = s.ByName(ctx, OwnerName); !errors.Is(err, ErrNotFound) {
		return user, false, err
	}
	user, err = s.Create(ctx, identity.ForHost("create the owner at the first start"), OwnerName, true)
	if errors.Is(err, ErrExists) {
		user, err = s.ByName(ctx, OwnerName) // somebody was faster
		return user, false, err
	}
	return user, err == nil, err
}
