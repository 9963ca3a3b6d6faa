package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// wrongFlag is what a person is told of a flag that a command does not take.
func wrongFlag(c *cobra.Command, err error) error {
	return fmt.Errorf("%w; %s --help lists the flags", err, c.CommandPath())
}

// sayWhatIsTaken makes c and the commands below it say what they take where they get
// something else. cobra's own sentences only count.
func sayWhatIsTaken(c *cobra.Command) {
	for _, sub := range c.Commands() {
		sayWhatIsTaken(sub)
	}
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if check(c, args) == nil {
			return nil
		}
		return wrongArguments(c, args)
	}
}

// wrongArguments is what a person is told of arguments that c does not take.
func wrongArguments(c *cobra.Command, args []string) error {
	path := c.CommandPath()
	if c.HasSubCommands() {
		return fmt.Errorf("%s has no command %q; %s --help lists those that it has", path, args[0], path)
	}
	_, takes, some := strings.Cut(c.Use, " ")
	if !some {
		return fmt.Errorf("%s takes no argument, and %q was given", path, args[0])
	}
	switch len(args) {
	case 0:
		return fmt.Errorf("%s takes %s, and nothing was given; %s --help says more", path, takes, path)
	case 1:
		return fmt.Errorf("%s takes %s, and only %q was given; %s --help says more", path, takes, args[0], path)
	}
	return fmt.Errorf("%s takes %s, and %d arguments were given; one with spaces needs quotes around it", path, takes,
		len(args))
}
