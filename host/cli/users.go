package cli

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"time"
)

// user is a user as the host lists them.
type user struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Operator  bool      `json:"operator"`
	CreatedAt time.Time `json:"created_at"`
}

// AddUser adds a user and prints their first sign-in link.
func AddUser(ctx context.Context, o Options, c *Client, name string, operator bool) error {
	in := map[string]any{"name": name, "operator": operator}
	if err := c.call(ctx, http.MethodPost, "/users", in, nil); err != nil {
		return err
	}
	return LinkUser(ctx, o, c, name)
}

// LinkUser prints a one-time sign-in link.
func LinkUser(ctx context.Context, o Options, c *Client, name string) error {
	var reply struct {
		URL       string    `json:"url"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	if err := c.call(ctx, http.MethodPost, "/users/"+pathEscape(name)+"/link", nil, &reply); err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(o.Out, reply)
	}
	printf(o.Out, "%s\n", reply.URL)
	printf(o.Err, "The link works once, until %s.\n", reply.ExpiresAt.Local().Format("2006-01-02 15:04"))
	return nil
}

// ListUsers lists the users.
func ListUsers(ctx context.Context, o Options, c *Client) error {
	var reply struct {
		Users []user `json:"users"`
	}
	if err := c.call(ctx, http.MethodGet, "/users", nil, &reply); err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(o.Out, reply)
	}
	return table(o.Out, "NAME\tROLE\tSINCE", func(w io.Writer) {
		for _, u := range reply.Users {
			role := "user"
			if u.Operator {
				role = "operator"
			}
			printf(w, "%s\t%s\t%s\n", u.Name, role, u.CreatedAt.Local().Format("2006-01-02"))
		}
	})
}

// RemoveUser removes a user and all that is theirs.
func RemoveUser(ctx context.Context, o Options, c *Client, name string) error {
	if err := c.call(ctx, http.MethodDelete, "/users/"+pathEscape(name), nil, nil); err != nil {
		return err
	}
	printf(o.Err, "removed %s\n", name)
	return nil
}

// absolute is name as an absolute path, or name where there is none.
func absolute(name string) string {
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return name
}
