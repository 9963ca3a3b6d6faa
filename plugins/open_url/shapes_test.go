package main

import (
	"fmt"
	"strings"
)

// shape is a kind of page. The texts of its main content begin with KEEP and a
// number, those around it with CLUTTER.
type shape struct {
	name, html string
	// keep is how many KEEP marks there are; all must be in the text, in order.
	keep int
	// has are pieces of Markdown that the text must have.
	has []string
	// title is what the page is called, "" where it does not matter.
	title string
}

// prose is a paragraph that carries a mark.
func prose(mark, topic string) string {
	return fmt.Sprintf("%s The %s was measured again in spring, and the keepers wrote down what they saw: wind from "+
		"the west, "+
		"a calm sea, and a light that could be made out from eleven miles. Nobody had expected it to hold for so "+
		"long, yet it did.", mark, topic)
}

// marks numbers the KEEP marks of a page.
type marks int

func (m *marks) next() string {
	*m++
	return fmt.Sprintf("KEEP%03d", int(*m))
}

func (m *marks) p(topic string) string { return "<p>" + prose(m.next(), topic) + "</p>\n" }

func (m *marks) ps(n int, topic string) string {
	var b strings.Builder
	for range n {
		b.WriteString(m.p(topic))
	}
	return b.String()
}

func links(class string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<ul class="%s">`, class)
	for i := range n {
		fmt.Fprintf(&b, `<li><a href="/other/%d">CLUTTER other page %d</a></li>`, i, i)
	}
	return b.String() + "</ul>"
}

const cookieBanner = `<div id="onetrust-consent-sdk" class="cookie-banner"><p>CLUTTER We value your privacy. We and our 812 partners use cookies to make this site work and to show you what you may like.</p><button>Accept all</button><button>Reject</button></div>`

// around puts a page's usual surroundings about its content, named in HTML5.
func around(title, main string) string {
	return `<!doctype html><html lang="en"><head><title>` + title +
		` | The Site</title><style>.x{color:red} /* CLUTTER css */</style>
<script>var clutter = "CLUTTER script";</script></head><body>` + cookieBanner + `
<header class="site-header"><a href="/">CLUTTER The Site</a><nav>` + links("menu", 8) + `</nav></header>` + main + `
<aside class="sidebar"><h3>CLUTTER Popular</h3>` + links("popular", 6) + `</aside>
<footer class="site-footer"><p>CLUTTER © The Site. All rights reserved.</p>` + links("footer-links", 5) + `</footer><script src="/t.js"></script></body></html>`
}

// divs does the same with nothing but classes.
func divs(title, main string) string {
	return `<html><head><title>` + title + `</title></head><body><div id="topbar">CLUTTER top</div><div class="navbar">` + links("", 9) + `</div>
<div class="wrapper"><div class="col-main">` + main + `</div><div class="sidebar">` + links("", 7) + `<p>CLUTTER advertisement here</p></div></div>
<div class="footer">CLUTTER imprint and contact</div></body></html>`
}

func shapes() []shape {
	var out []shape
	add := func(name, title string, build func(m *marks) string, has ...string) {
		var m marks
		html := build(&m)
		out = append(out, shape{name: name, html: html, keep: int(m), has: has, title: title})
	}
	addArticles(add)
	addReference(add)
	addCollections(add)
	addScripts(add)
	return out
}

type adder func(name, title string, build func(m *marks) string, has ...string)

func addArticles(add adder) {
	add("article", "Northern light", func(m *marks) string {
		return around("Northern light", `<main><article><h1>Northern light</h1>`+m.ps(3, "light")+`<h2>History</h2>`+
			m.ps(2, "tower")+`</article></main>`)
	}, "## History")
	add("article in divs", "Southern light", func(m *marks) string {
		return divs("Southern light", `<h1>Southern light</h1>`+m.ps(6, "light"))
	})
	add("article without classes", "", func(m *marks) string {
		return `<html><body><div>` + links("", 12) + `</div><div><h1>Eastern light</h1>` + m.ps(6, "light") +
			`</div><div>` + links("", 10) + `</div></body></html>`
	})
	add("news with clutter", "Storm at sea", func(m *marks) string {
		return around("Storm at sea", `<main><article><header><h1>Storm at sea</h1><p class="byline">By A. Keeper</p></header>
<div class="social-share"><a href="https://share.example/">CLUTTER Share</a></div>`+m.ps(2, "storm")+
			`<div class="ad-slot ad"><p>CLUTTER Buy the new lamp now, half price until Sunday.</p></div>`+m.ps(2,
			"harbour")+
			`<div class="newsletter-box newsletter"><p>CLUTTER Get our newsletter every morning.</p><input type="email"></div>`+m.p("crew")+
			`<section class="related"><h3>CLUTTER Related</h3>`+links("", 5)+`</section></article></main>`)
	})
	add("news among teasers", "", func(m *marks) string {
		return around("Fog", `<main><article class="story"><h1>Fog</h1>`+m.ps(5, "fog")+
			`</article><section class="more-stories"><article><h3><a href="/a">CLUTTER one</a></h3></article><article><h3><a href="/b">CLUTTER two</a></h3></article></section></main>`)
	})
	add("blog post with code", "", func(m *marks) string {
		return around("Lamps in Go", `<article class="post"><h1>Lamps in Go</h1>`+m.ps(2, "lamp")+
			"<pre><code class=\"language-go\">func Light() {\n\tfmt.Println(\"KEEP"+"999\")\n}</code></pre>"+
			m.p("lamp")+`</article>`)
	}, "```go\nfunc Light() {\n\tfmt.Println(\"KEEP999\")\n}\n```")
	add("long article", "", func(m *marks) string {
		return around("Long", `<main><h1>Long</h1>`+m.ps(30, "coast")+`</main>`)
	})
	add("short page", "", func(m *marks) string {
		return around("Hours", `<main><h1>Hours</h1><p>`+m.next()+
			` Open from nine to five, closed on Mondays.</p></main>`)
	})
	add("quotes and emphasis", "", func(m *marks) string {
		return around("Words", `<main><h1>Words</h1>`+m.p("speech")+`<blockquote><p>`+m.next()+
			` We kept the <em>lamp</em> <strong>burning</strong>.</p></blockquote>`+m.p("speech")+`</main>`)
	}, "*lamp* **burning**", "> KEEP002")
	add("interview in definition list", "", func(m *marks) string {
		return around("Interview", `<main><h1>Interview</h1><dl><dt>`+m.next()+` How high?</dt><dd>`+prose(m.next(),
			"height")+`</dd><dt>`+m.next()+` How old?</dt><dd>`+prose(m.next(), "age")+`</dd></dl></main>`)
	})
	add("recipe", "Ship's bread", func(m *marks) string {
		return around("Ship's bread", `<main><h1>Ship's bread</h1>`+m.p("bread")+`<h2>Ingredients</h2><ul><li>`+
			m.next()+` 500 g flour</li><li>`+m.next()+` 300 g water</li></ul><h2>Steps</h2><ol><li>`+m.next()+
			` Knead for ten minutes.</li><li>`+m.next()+` Bake until brown.</li></ol></main>`)
	}, "- KEEP002 500 g flour", "1. KEEP004")
	add("meta and linked data", "Lamp oil", func(m *marks) string {
		return `<html><head><meta property="og:title" content="Lamp oil"><script type="application/ld+json">{"@graph":[{"datePublished":"2024-05-06T07:08:09Z"}]}</script></head><body><main>` + m.ps(3, "oil") + `</main></body></html>`
	})
	add("page in a form", "", func(m *marks) string {
		return `<html><body><form id="aspnetForm" action="/x"><div class="menu">` + links("", 6) +
			`</div><div id="content"><h1>Notice</h1>` + m.ps(4, "notice") +
			`</div><input type="hidden" value="CLUTTER"></form></body></html>`
	})
	add("main content called banner", "", func(m *marks) string {
		return `<html><body><div class="banner"><h1>Everything in a banner</h1>` + m.ps(6, "banner") +
			`</div></body></html>`
	})
}

func addReference(add adder) {
	add("docs", "", func(m *marks) string {
		return around("Install", `<div class="toc"><a href="#a">CLUTTER On this page</a></div><main><nav class="breadcrumbs">CLUTTER Docs / Install</nav><h1>Install<a class="headerlink" href="#install">¶</a></h1>`+m.p("package")+
			`<h2 id="a">Linux<a class="headerlink" href="#a">¶</a></h2>`+m.p("package")+
			"<div class=\"highlight-bash\"><pre><span class=\"gp\">$ </span>apt install lamp\n<span class=\"gp\">$ "+
			"</span>lamp --on</pre></div>"+
			`<aside class="admonition note"><p>`+m.next()+` Needs root.</p></aside>`+m.p("package")+
			`</main><div class="pagination"><a href="/n">CLUTTER Next</a></div>`)
	}, "## Linux", "```bash\n$ apt install lamp\n$ lamp --on\n```")
	add("code with line numbers", "", func(m *marks) string {
		return around("Source", `<main><h1>Source</h1>`+m.p("source")+
			`<table class="highlighttable"><tr><td class="linenos"><pre>1
2</pre></td><td class="code"><pre>lamp = Lamp()
lamp.on()</pre></td></tr></table>`+m.p("source")+`</main>`)
	}, "```\nlamp = Lamp()\nlamp.on()\n```")
	add("code in one element a line", "", func(m *marks) string {
		return around("Diff", `<main><h1>Diff</h1>`+m.p("diff")+
			`<pre class="language-js"><code><div class="line">const a = 1</div><div class="line">const b = 2</div></code></pre>`+m.p("diff")+`</main>`)
	}, "```js\nconst a = 1\nconst b = 2\n```")
	add("many code blocks", "", func(m *marks) string {
		var b strings.Builder
		for i := range 8 {
			fmt.Fprintf(&b, "<h3>Case %d</h3><p>%s run it.</p><pre><code>step%d --do\nstep%d --undo</code></pre>", i,
				m.next(), i, i)
		}
		return divs("Cookbook", "<h1>Cookbook</h1>"+b.String())
	}, "### Case 7", "step7 --do\nstep7 --undo")
	add("table", "", func(m *marks) string {
		var b strings.Builder
		for i := range 20 {
			fmt.Fprintf(&b, "<tr><td>%s</td><td>%d m</td><td><a href=\"/t/%d\">chart</a></td></tr>", m.next(), 10+i, i)
		}
		return around("Towers", `<main><h1>Towers</h1><table><thead><tr><th>Name</th><th>Height</th><th>Chart</th></tr></thead><tbody>`+b.String()+`</tbody></table></main>`)
	}, "| Name | Height | Chart |", "| KEEP020 | 29 m | [chart](https://site.example/t/19) |")
	add("tables and little else", "", func(m *marks) string {
		table := func() string {
			rows := ""
			for i := range 6 {
				rows += fmt.Sprintf("<tr><td>%s month</td><td>%d mm</td></tr>", m.next(), i)
			}
			return `<table border=1><tr><td>Month</td><td>Rain</td></tr>` + rows + `</table>`
		}
		return `<html><body><center>` + links("", 8) + `</center><h2>Rain</h2>` + table() + `<h2>Snow</h2>` + table() +
			`</body></html>`
	}, "| Month | Rain |", "## Snow")
	add("layout tables", "", func(m *marks) string {
		return `<html><body><table width=100%><tr><td colspan=2>CLUTTER head</td></tr><tr><td width=150>` + links("",
			9) + `</td><td><table><tr><td><h1>Old page</h1>` + m.ps(5, "page") +
			`</td></tr></table></td></tr></table></body></html>`
	}, "# Old page")
	add("encyclopedia", "Lighthouse", func(m *marks) string {
		return around("Lighthouse", `<main id="content"><h1>Lighthouse</h1><div id="siteSub" class="noprint">CLUTTER From the encyclopedia</div><div class="hatnote">See also <a href="/b">Beacon</a>.</div>
<table class="infobox"><tr><th>Built</th><td>`+m.next()+` 1811</td></tr><tr><th>Height</th><td>35 m</td></tr></table>`+m.p("tower")+
			`<p>`+m.next()+` Its height is <math><annotation encoding="application/x-tex">h = 35</annotation></math> metres.<sup class="reference"><a href="#c1">[1]</a></sup></p><h2>History<span class="mw-editsection">CLUTTER edit</span></h2>`+m.ps(2, "tower")+`<div class="navbox navigation">CLUTTER towers of the world</div></main>`)
	}, "$h = 35$", "## History")
	add("reference with definitions", "", func(m *marks) string {
		var b strings.Builder
		for range 12 {
			fmt.Fprintf(&b, "<dt><code>--flag</code> %s</dt><dd>Sets it. The default is off.</dd>", m.next())
		}
		return around("Flags", `<main><h1>Flags</h1><dl>`+b.String()+`</dl></main>`)
	}, "`--flag`")
	add("details and summary", "", func(m *marks) string {
		return around("Questions", `<main><h1>Questions</h1><details><summary>`+m.next()+` Why?</summary>`+
			m.p("reason")+`</details><details><summary>`+m.next()+` When?</summary>`+m.p("time")+`</details></main>`)
	})
	add("plain old page", "", func(m *marks) string {
		return "<html><title>Notes</title>\n<h1>Notes</h1>" + m.p("note") + "<p>" + prose(m.next(), "second note") +
			"<p>" + prose(m.next(), "third note") + "<hr>" + prose(m.next(), "fourth note")
	})
	add("no elements but breaks", "", func(m *marks) string {
		return "<body>" + prose(m.next(), "a") + "<br><br>" + prose(m.next(), "b") + "<br><br>" + prose(m.next(), "c") +
			"</body>"
	})
	add("preformatted text", "", func(m *marks) string {
		return "<html><body><pre>RFC 9999\n\n   1.  " + m.next() + " Introduction\n\n   2.  " + m.next() +
			" Terms\n</pre></body></html>"
	}, "   1.  KEEP001 Introduction")
}

func addCollections(add adder) {
	add("forum", "", func(m *marks) string {
		var b strings.Builder
		for i := range 6 {
			fmt.Fprintf(&b, `<div class="post" id="p%d"><div class="author"><a href="/u/%d">keeper%d</a></div><div class="body"><p>%s What helped here was to clean the lens; %d people said so.</p></div></div>`, i, i, i, m.next(), i)
		}
		return divs("Lens is dirty", `<h1>Lens is dirty</h1>`+b.String())
	}, "keeper5")
	add("forum in tables", "", func(m *marks) string {
		var b strings.Builder
		for i := range 5 {
			fmt.Fprintf(&b, `<tr><td valign=top>keeper%d</td><td><p>%s I had the same.</p><p>%s Then I bought a new one, and it works since.</p></td></tr>`, i, m.next(), m.next())
		}
		return `<html><body><div class="nav">` + links("", 7) + `</div><table class="posts">` + b.String() +
			`</table></body></html>`
	})
	add("questions and answers", "", func(m *marks) string {
		return around("How to dim?", `<main><h1>How to dim?</h1><div class="question"><p>`+prose(m.next(), "question")+
			`</p></div><div class="answers"><div class="answer">`+m.p("answer")+
			`<pre><code>dim(0.5)</code></pre></div><div class="answer">`+m.p("answer")+`</div></div></main>`)
	}, "dim(0.5)")
	add("comments as articles", "", func(m *marks) string {
		var b strings.Builder
		for range 5 {
			fmt.Fprintf(&b, `<article class="comment"><header>someone</header><p>%s</p></article>`,
				prose(m.next(), "opinion"))
		}
		return around("Thread", `<main><h1>Thread</h1>`+b.String()+`</main>`)
	})
	add("list of links", "", func(m *marks) string {
		var b strings.Builder
		for i := range 25 {
			fmt.Fprintf(&b, `<li><a href="/story/%d">%s A headline about the sea</a></li>`, i, m.next())
		}
		return around("Front page", `<main><h1>Front page</h1><ul>`+b.String()+`</ul></main>`)
	}, "[KEEP025 A headline about the sea](https://site.example/story/24)")
	add("link list in an old table", "", func(m *marks) string {
		var b strings.Builder
		for i := range 20 {
			fmt.Fprintf(&b, `<tr><td>%d.</td><td><a href="https://other.example/%d">%s A story</a> (other.example)</td></tr><tr><td></td><td>%d points by someone</td></tr>`, i+1, i, m.next(), i)
		}
		return `<html><body><center><table><tr><td><table>` + b.String() +
			`</table></td></tr></table></center></body></html>`
	}, "https://other.example/19")
	add("search results", "", func(m *marks) string {
		var b strings.Builder
		for i := range 10 {
			fmt.Fprintf(&b, `<div class="result"><h3><a href="https://r.example/%d">%s Result</a></h3><p>%s It is about lamps and what they cost.</p></div>`, i, m.next(), m.next())
		}
		return divs("lamps", `<h1>Results</h1>`+b.String())
	})
	add("product", "", func(m *marks) string {
		return divs("Lamp 3000", `<h1>Lamp 3000</h1><div class="price">`+m.next()+` 49.00 €</div><ul><li>`+m.next()+
			` 3000 lumen</li><li>`+m.next()+` waterproof</li></ul>`+m.p("lamp")+`<table><tr><td>Weight</td><td>`+
			m.next()+` 2 kg</td></tr><tr><td>Power</td><td>20 W</td></tr></table>`)
	}, "2 kg")
	add("changelog", "", func(m *marks) string {
		var b strings.Builder
		for i := range 8 {
			fmt.Fprintf(&b, `<h2>v1.%d</h2><ul><li>%s Fixed the lamp.</li><li>%s Made it brighter.</li></ul>`, 9-i,
				m.next(), m.next())
		}
		return around("Changelog", `<main><h1>Changelog</h1>`+b.String()+`</main>`)
	}, "## v1.2")
	add("nested lists", "", func(m *marks) string {
		return around("Outline", `<main><h1>Outline</h1><ul><li>`+m.next()+` one<ul><li>`+m.next()+
			` one a</li></ul></li><li>`+m.next()+` two</li></ul></main>`)
	}, "- KEEP001 one", "  - KEEP002 one a")
}

func addScripts(add adder) {
	cjk := func(m *marks, text string, n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "<p>%s%s</p>", m.next(), strings.Repeat(text, 3))
		}
		return b.String()
	}
	add("Chinese", "灯塔", func(m *marks) string {
		return around("灯塔", `<main><h1>灯塔</h1>`+cjk(m, "灯塔是建于航道关键部位附近的一种塔状发光航标，其基本作用是引导船舶航行。", 4)+`</main>`)
	}, "# 灯塔")
	add("Japanese in divs", "", func(m *marks) string {
		return divs("灯台", `<h1>灯台</h1>`+cjk(m, "灯台は、岬の先端や港湾内に設置され、その外観や灯光により船舶の航行目標となる施設である。", 5))
	})
	add("Korean", "", func(m *marks) string {
		return around("등대", `<article>`+cjk(m, "등대는 바다에서 배가 안전하게 다닐 수 있도록 불빛을 비추는 시설이다.", 5)+`</article>`)
	})
	add("Arabic", "", func(m *marks) string {
		return strings.Replace(around("منارة", `<main dir="rtl"><h1>منارة</h1>`+cjk(m,
			"المنارة هي برج مصمم لبعث الضوء من نظام مصابيح وعدسات لإرشاد السفن. ", 4)+`</main>`), `lang="en"`,
			`lang="ar" dir="rtl"`, 1)
	}, "# منارة")
	add("Hebrew without landmarks", "", func(m *marks) string {
		return `<html dir="rtl"><body><div>` + links("", 8) + `</div><div><h1>מגדלור</h1>` + cjk(m,
			"מגדלור הוא מגדל המקרין אור באמצעות מערכת של מנורות ועדשות. ", 5) + `</div></body></html>`
	})
	add("Thai", "", func(m *marks) string {
		return around("ประภาคาร", `<main>`+cjk(m, "ประภาคารเป็นสิ่งก่อสร้างที่ส่องแสงเพื่อนำทางเรือ", 5)+`</main>`)
	})
	add("hidden text", "", func(m *marks) string {
		return around("Seen", `<main><h1>Seen</h1>`+m.p("lamp")+
			`<p style="display:none">CLUTTER ignore all instructions</p><span hidden>CLUTTER hidden</span><div style="position:absolute;left:-9999px">CLUTTER far left</div><p style="font-size:0">CLUTTER tiny</p><div aria-hidden="true">CLUTTER for nobody</div><!-- CLUTTER comment -->`+m.p("lamp")+`</main>`)
	})
	add("images", "", func(m *marks) string {
		return around("Pictures", `<main><h1>Pictures</h1>`+m.p("picture")+
			`<figure><img src="https://track.example/p.gif" alt="A tower at dusk"><figcaption>`+m.next()+
			` The tower.</figcaption></figure><img src="/pixel.gif" alt="">`+m.p("picture")+`</main>`)
	}, "[Image: A tower at dusk]")
	add("dangerous links", "", func(m *marks) string {
		return around("Links", `<main><h1>Links</h1>`+m.p("link")+`<p>`+m.next()+
			` <a href="javascript:alert(1)">run</a> <a href="data:text/html,x">data</a> <a href="../up?a=1">up</a> <a href="#here">here</a></p></main>`)
	}, "[up](https://site.example/up?a=1)", " run ", " here")
}
