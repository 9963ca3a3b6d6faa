package main

import (
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// facts are what tells a page that shows its content from one that keeps it.
type facts struct {
	url string
	// text is what was extracted, raw the beginning of all text on the page.
	text, raw string
	scripts   int
	// mount tells that there is an empty element for scripts to fill.
	mount, password bool
}

// look gathers facts before the page is decluttered.
func look(doc *html.Node, address string) facts {
	f := facts{url: address, raw: textOf(doc, 6000)}
	elements(doc, func(n *html.Node) bool {
		switch {
		case n.DataAtom == atom.Script:
			f.scripts++
		case n.DataAtom == atom.Noscript:
			f.raw += " " + clip(textIn(n), 1000)
		case n.DataAtom == atom.Input && strings.EqualFold(attr(n, "type"), "password"):
			f.password = true
		case n.DataAtom == atom.Div && mounts[attr(n, "id")] && letters(textOf(n, 200)) < 20:
			f.mount = true
		}
		return true
	})
	return f
}

// mounts are the ids of elements that frameworks fill.
var mounts = map[string]bool{"root": true, "app": true, "__next": true, "__nuxt": true, "main-app": true,
	"application": true, "svelte": true}

// textIn is the text of an element whatever it is.
func textIn(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		} else {
			b.WriteString(" " + textOf(c, 1000))
		}
	}
	return b.String()
}

// little is how many characters a page may have that shows only a wall.
const little = 400

var (
	consentWords = regexp.MustCompile(`(?i)cookies?\b|consent|gdpr|before you continue|accept all|alle akzeptieren|zustimmen|tout accepter|aceptar todo|同意|クッキー`)
	acceptWords  = regexp.MustCompile(`(?i)before you continue|we use|wir verwenden|nous utilisons|accept|agree|reject|preferences|partners|privacy|akzeptieren|zustimmen|einstellungen|accepter|aceptar|同意`)
	robotWords   = regexp.MustCompile(`(?i)captcha|are you (?:a )?(?:human|robot)|not a robot|verify(?:ing)? (?:that )?you are|just a moment|checking your browser|unusual traffic|access denied`)
	signInWords  = regexp.MustCompile(`(?i)sign in|log ?in|anmelden|se connecter|iniciar sesión|ログイン|登录`)
	payWords     = regexp.MustCompile(`(?i)subscribe to (?:continue|read)|subscribers? only|to continue reading|already a subscriber`)
	scriptWords  = regexp.MustCompile(`(?i)(?:enable|requires?|turn on|activate|needs?) (?:\w+ )?java ?script|javascript (?:is )?(?:disabled|required|needed)|java ?script aktivieren`)
)

// wall returns a sentence when a page keeps its content, nil when it shows some.
func wall(f facts) error {
	size := letters(f.text)
	if size >= little {
		return nil
	}
	all := f.raw + " " + f.text
	bare := size < 30 // a heading at most
	host := ""
	if u, err := url.Parse(f.url); err == nil {
		host = u.Hostname()
	}
	switch {
	case strings.HasPrefix(host, "consent."), consentWords.MatchString(f.text) && acceptWords.MatchString(f.text),
		bare && consentWords.MatchString(all):
		return refusal("The page shows only a question about cookies or consent, and not its content.")
	case robotWords.MatchString(f.text), bare && robotWords.MatchString(all):
		return refusal("The page asks to prove that one is a person, and does not show its content.")
	case payWords.MatchString(f.text), bare && payWords.MatchString(all):
		return refusal("The page shows its content to subscribers only.")
	case f.password && size < 150, bare && signInWords.MatchString(all):
		return refusal("The page asks to sign in, and does not show its content.")
	case scriptWords.MatchString(f.text), bare && (scriptWords.MatchString(all) || f.mount), size == 0 && f.scripts > 0:
		return refusal("The page builds its content with scripts, which are not run here; without them it is empty.")
	case size == 0:
		return refusal("The page has no text.")
	}
	return nil
}
