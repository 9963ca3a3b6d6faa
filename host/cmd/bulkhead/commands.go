package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bulkhead-host/bulkhead/host/cli"
	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// newRoot returns the whole command line.
func newRoot(out, errs io.Writer) *cobra.Command {
	o := &options{Options: cli.Options{Version: versionText(), Out: out, Err: errs}}
	root := &cobra.Command{
		Use:           "bulkhead",
		Short:         "An agent host whose tools are sealed WebAssembly modules",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return errors.New("say what to do; bulkhead --help lists the commands")
		},
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return o.complete(c) },
	}
	root.Version = o.Version
	root.SetVersionTemplate("bulkhead {{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	flags := root.PersistentFlags()
	flags.StringVar(&o.DataDir, "data", "", "the data folder (default $BULKHEAD_DATA, else the user's data folder)")
	flags.StringVar(&o.ConfigFile, "config", "", "the configuration (default bulkhead.yaml in the data folder, if "+
		"there is one)")
	flags.BoolVar(&o.Verbose, "verbose", false, "log everything to stderr")
	root.SetFlagErrorFunc(wrongFlag)
	root.AddCommand(serve(o), chat(o), knowledge(o), user(o), pluginCommands(o), model(o), agent(o), parse(o),
		benchmarks(o), versionOf(o))
	sayWhatIsTaken(root)
	return root
}

// complete fills in what the flags leave open.
func (o *options) complete(c *cobra.Command) (err error) {
	o.Holder = c.CommandPath()
	o.Logger = cli.NewLogger(o.Err, config.LogQuiet, o.Verbose)
	if o.DataDir == "" {
		o.DataDir, err = cli.DefaultDataDir(os.Getenv)
	} else {
		o.DataDir, err = filepath.Abs(o.DataDir)
	}
	return err
}

// do makes a command's action: what it returns is a failure, not wrong usage.
func do(action func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := action(c.Context(), args); err != nil {
			return failed{err}
		}
		return nil
	}
}

// connected makes an action of a command that talks to the host.
func connected(
	o *options, action func(ctx context.Context, c *cli.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return do(func(ctx context.Context, args []string) (err error) {
		client, err := cli.Connect(ctx, o.Options, o.user)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, client.Close()) }()
		return action(ctx, client, args)
	})
}

// settled is connected for a command that needs every plugin and model.
func settled(
	o *options, action func(ctx context.Context, c *cli.Client, args []string) error,
) func(*cobra.Command, []string) error {
	run := connected(o, action)
	return func(c *cobra.Command, args []string) error {
		o.Settled = true
		return run(c, args)
	}
}

// group is a command that only has others.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		return errors.New("say what to do; " + c.CommandPath() + " --help lists the commands")
	}}
	c.AddCommand(commands...)
	return c
}

func (o *options) json(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&o.JSON, "json", false, "write JSON")
	return c
}

func (o *options) actAs(c *cobra.Command) *cobra.Command {
	c.PersistentFlags().StringVar(&o.user, "user", "", "the user to act as (default owner)")
	return c
}

func serve(o *options) *cobra.Command {
	var listen string
	var browse bool
	c := &cobra.Command{Use: "serve", Short: "Serve the page, the WebSocket and the REST API", Args: cobra.NoArgs,
		RunE: do(func(ctx context.Context, _ []string) error { return cli.Serve(ctx, o.Options, listen, browse) })}
	c.Flags().StringVar(&listen, "listen", "", "the address, host:port (default 127.0.0.1:8420)")
	c.Flags().BoolVar(&browse, "open", false, "open the page in the browser")
	return c
}

func chat(o *options) *cobra.Command {
	var q cli.Question
	var tools string
	c := &cobra.Command{Use: "chat QUESTION", Short: "Ask one question and write the answer as it comes",
		Args: cobra.ExactArgs(1)}
	c.Flags().StringVar(&q.Session, "session", "", "the conversation to go on with")
	c.Flags().StringVar(&q.Agent, "agent", "", "the agent that answers")
	c.Flags().StringVar(&q.Model, "model", "", "the model")
	c.Flags().StringVar(&tools, "tools", "", "the tools that may be used, by name or as plugin/tool, parted by "+
		"commas (default all)")
	c.Flags().StringVar(&q.Force, "force", "", "a tool that must be used")
	c.RunE = settled(o, func(ctx context.Context, client *cli.Client, args []string) error {
		q.Text = args[0]
		if c.Flags().Changed("tools") {
			q.Tools = names(tools)
		}
		return cli.Chat(ctx, o.Options, client, q)
	})
	return o.actAs(o.json(c))
}

// names parts a list at its commas.
func names(list string) []string {
	out := []string{}
	for _, name := range strings.Split(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

func knowledge(o *options) *cobra.Command {
	limit := 10
	search := &cobra.Command{Use: "search QUERY", Short: "Show the passages that fit a question",
		Args: cobra.ExactArgs(1),
		RunE: connected(o, func(ctx context.Context, c *cli.Client, args []string) error {
			return cli.SearchDocuments(ctx, o.Options, c, args[0], limit)
		})}
	search.Flags().IntVar(&limit, "limit", 10, "how many passages, 1 to 100")
	search.PreRunE = func(*cobra.Command, []string) error {
		if limit < 1 || limit > 100 {
			return errors.New("--limit must be 1 to 100")
		}
		return nil
	}
	return o.actAs(group("knowledge", "The documents that the search tool finds",
		o.json(&cobra.Command{Use: "add PATH…", Short: "Add files, and the documents in folders",
			Args: cobra.MinimumNArgs(1),
			RunE: connected(o, func(ctx context.Context, c *cli.Client, args []string) error {
				return cli.AddDocuments(ctx, o.Options, c, args)
			})}),
		o.json(&cobra.Command{Use: "list", Short: "List the documents", Args: cobra.NoArgs,
			RunE: connected(o, func(ctx context.Context, c *cli.Client, _ []string) error {
				return cli.ListDocuments(ctx, o.Options, c)
			})}),
		&cobra.Command{Use: "remove DOCUMENT…", Short: "Remove documents, by id or path", Args: cobra.MinimumNArgs(1),
			RunE: connected(o, func(ctx context.Context, c *cli.Client, args []string) error {
				return cli.RemoveDocuments(ctx, o.Options, c, args)
			})},
		o.json(search)))
}

func user(o *options) *cobra.Command {
	var operator bool
	add := &cobra.Command{Use: "add NAME", Short: "Add a user and print their sign-in link", Args: cobra.ExactArgs(1),
		RunE: connected(o, func(ctx context.Context, c *cli.Client, args []string) error {
			return cli.AddUser(ctx, o.Options, c, args[0], operator)
		})}
	add.Flags().BoolVar(&operator, "operator", false, "they manage users, models and plugins")
	return group("user", "The people who may sign in",
		o.json(add),
		o.json(&cobra.Command{Use: "link NAME", Short: "Print a one-time sign-in link", Args: cobra.ExactArgs(1),
			RunE: connected(o, func(ctx context.Context, c *cli.Client, args []string) error {
				return cli.LinkUser(ctx, o.Options, c, args[0])
			})}),
		o.json(&cobra.Command{Use: "list", Short: "List the users", Args: cobra.NoArgs,
			RunE: connected(o, func(ctx context.Context, c *cli.Client, _ []string) error {
				return cli.ListUsers(ctx, o.Options, c)
			})}),
		&cobra.Command{Use: "remove NAME", Short: "Remove a user and all that is theirs", Args: cobra.ExactArgs(1),
			RunE: connected(o, func(ctx context.Context, c *cli.Client, args []string) error {
				return cli.RemoveUser(ctx, o.Options, c, args[0])
			})})
}

func pluginCommands(o *options) *cobra.Command {
	var call cli.ToolCall
	run := &cobra.Command{Use: "run FILE TOOL", Short: "Call one tool of a module, with nothing granted unless said",
		Args: cobra.ExactArgs(2),
		RunE: do(func(ctx context.Context, args []string) error {
			call.File, call.Tool, call.User = args[0], args[1], o.user
			return cli.RunPlugin(ctx, o.Options, call)
		})}
	run.Flags().StringVar(&call.Arguments, "args", "", "the arguments, a JSON object")
	run.Flags().StringVar(&call.GrantFile, "grant", "", "a file with the grants")
	run.Flags().StringVar(&call.Meta, "meta", "", "what the tool may know, as JSON")
	var check cli.Check
	verify := &cobra.Command{Use: "verify FILE", Short: "Check a module as an install does, and compare it with the " +
		"reference SDK", Args: cobra.ExactArgs(1),
		RunE: do(func(ctx context.Context, args []string) error {
			check.File = args[0]
			return cli.VerifyPlugin(ctx, o.Options, check)
		})}
	verify.Flags().BoolVar(&check.Reference, "reference", false, "run each tool under the reference Extism SDK too")
	verify.Flags().StringVar(&check.Arguments, "args", "",
		"the arguments of tools by their names, a JSON object (default examples from their schemas)")
	var seen string
	held := &cobra.Command{Use: "held NAME", Short: "Show or accept tools that are held because they changed",
		Args: cobra.ExactArgs(1),
		RunE: connected(o, func(ctx context.Context, c *cli.Client, args []string) error {
			return cli.HeldTools(ctx, o.Options, c, args[0], seen)
		})}
	held.Flags().StringVar(&seen, "accept", "", "offer the tools that were shown with this hash")
	return group("plugin", "Plugins, the modules that tools come in",
		o.actAs(o.json(run)), o.json(held), o.json(verify),
		o.json(&cobra.Command{Use: "config NAME [KEY=VALUE | KEY=]…",
			Short: "Show or set what a plugin reads as its configuration", Args: cobra.MinimumNArgs(1),
			RunE: connected(o, func(ctx context.Context, c *cli.Client, args []string) error {
				return cli.ConfigurePlugin(ctx, o.Options, c, args[0], args[1:])
			})}),
		o.json(&cobra.Command{Use: "list", Short: "List what is installed", Args: cobra.NoArgs,
			RunE: settled(o, func(ctx context.Context, c *cli.Client, _ []string) error {
				return cli.ListPlugins(ctx, o.Options, c)
			})}),
		o.json(&cobra.Command{Use: "inspect FILE", Short: "Say what a module is and what it asks for",
			Args: cobra.ExactArgs(1),
			RunE: do(func(ctx context.Context, args []string) error {
				return cli.InspectPlugin(ctx, o.Options,
					args[0])
			})}))
}

func model(o *options) *cobra.Command {
	return group("model", "The models that answer", addModel(o),
		o.json(&cobra.Command{Use: "test NAME", Short: "Ask a model one question and one that needs a tool",
			Args: cobra.ExactArgs(1),
			RunE: settled(o, func(ctx context.Context, c *cli.Client, args []string) error {
				return cli.TestModel(ctx, o.Options, c, args[0])
			})}),
		&cobra.Command{Use: "default NAME", Short: "Choose the model of new conversations", Args: cobra.ExactArgs(1),
			RunE: settled(o, func(ctx context.Context, c *cli.Client, args []string) error {
				return cli.ChooseModel(ctx, o.Options, c, args[0])
			})},
		&cobra.Command{Use: "remove NAME", Short: "Remove a model that was added", Args: cobra.ExactArgs(1),
			RunE: connected(o, func(ctx context.Context, c *cli.Client, args []string) error {
				return cli.RemoveModel(ctx, o.Options, c, args[0])
			})},
		o.json(&cobra.Command{Use: "list", Short: "List the models", Args: cobra.NoArgs,
			RunE: settled(o, func(ctx context.Context, c *cli.Client, _ []string) error {
				return cli.ListModels(ctx, o.Options, c)
			})}))
}

func addModel(o *options) *cobra.Command {
	var m cli.NewModel
	var key bool
	c := &cobra.Command{Use: "add NAME", Short: "Add a model that can be asked at once", Args: cobra.ExactArgs(1)}
	flags := c.Flags()
	flags.StringVar(&m.BaseURL, "base-url", "", "where the model server listens, such as http://127.0.0.1:11434/v1")
	flags.StringVar(&m.Model, "model", "", "what the server calls the model (default NAME)")
	flags.StringVar(&m.Provider, "provider", string(provider.OpenAI), providerHelp())
	flags.IntVar(&m.ContextTokens, "context-tokens", 0, "the size of the model's window in tokens")
	flags.StringVar(&m.NativeTools, "native-tools", "", "auto, yes or no: the model's own tool calling")
	tuning(flags, &m.Tuning)
	flags.BoolVar(&m.Default, "default", false, "make it the model of new conversations")
	flags.BoolVar(&key, "key-stdin", false, "read the key from stdin; it is never shown again")
	run := connected(o, func(ctx context.Context, client *cli.Client, _ []string) error {
		return cli.AddModel(ctx, o.Options, client, m)
	})
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		m.Name = args[0]
		if m.Model == "" {
			m.Model = args[0]
		}
		if key {
			if m.APIKey, err = cli.ReadKey(c.InOrStdin()); err != nil {
				return failed{err}
			}
		}
		return run(c, args)
	}
	return c
}

// providerHelp says which providers a model can have and where each is reached.
func providerHelp() string {
	var with []string
	for _, p := range provider.Addable() {
		said := "needs --base-url"
		if p.BaseURL != "" {
			said = "else at " + p.BaseURL
		}
		if p.WantsKey {
			said += ", wants a key"
		}
		with = append(with, fmt.Sprintf("%s (%s)", p.Name, said))
	}
	return strings.Join(with, ", ")
}

// tuning adds a flag for each setting that is seldom needed.
func tuning(flags *pflag.FlagSet, t *config.Tuning) {
	flags.IntVar(&t.MaxOutputTokens, "max-output-tokens", 0, "how much one answer may take, in tokens")
	flags.StringVar((*string)(&t.Reasoning), "reasoning", "", "auto, yes or no: whether it reasons before it answers")
	flags.StringVar((*string)(&t.Vision), "vision", "", "auto, yes or no: whether it sees images")
	flags.StringVar((*string)(&t.ParallelTools), "parallel-tools", "",
		"auto, yes or no: whether it may call several tools at once")
	flags.BoolVar(&t.NativeSearch, "native-search", false,
		"give it the web search of its provider, for "+provider.Takers(provider.SettingNativeSearch))
	flags.StringVar((*string)(&t.API), "api", "", "auto, chat or responses: which interface is used, for "+
		provider.Takers(provider.SettingAPI))
	flags.StringVar(&t.KeepAlive, "keep-alive", "",
		"how long it stays in memory, such as 30m, for "+provider.Takers(provider.SettingKeepAlive))
	flags.StringVar(&t.ConnectTimeout, "connect-timeout", "", "how long connecting may take (default 10s)")
	flags.StringVar(&t.FirstTokenTimeout, "first-token-timeout", "", "how long the first token may take (default 3m)")
	flags.StringVar(&t.IdleTimeout, "idle-timeout", "", "how long the answer may stand still (default 1m)")
}

func versionOf(o *options) *cobra.Command {
	return o.json(&cobra.Command{Use: "version", Short: "Say what this binary is made of", Args: cobra.NoArgs,
		RunE: do(func(context.Context, []string) error { return cli.Version(o.Options) })})
}
