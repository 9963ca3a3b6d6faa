package knowledge_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

func TestFilesAreFoundHoweverTheirWordsAreSpelled(t *testing.T) {
	h := newHouse(t)
	if n := h.shelve("testdata/spelling"); n != 3 {
		t.Fatalf("%d documents", n)
	}
	for q, want := range map[string]string{
		"Göttingen": "nfd.md", norm.NFD.String("Göttingen"): "nfd.md", "Gottingen": "nfd.md", "학점인정": "nfd.md",
		"schliesst":                "nfd.md",
		"Wohnungsgeberbestätigung": "page.html", "efficient": "lig.md", "without": "lig.md", "eﬃcient": "lig.md",
	} {
		if got := found(h.search(h.ann, q)); !strings.HasSuffix(got, want) {
			t.Errorf("%q found %q, want %q", q, got, want)
		}
	}
}

func TestWordsAreFoundAndMarkedAsTheyStand(t *testing.T) {
	for _, c := range []struct{ text, question, marked string }{
		{"Das Amt in Go\u0308ttingen hat auf.", "Göttingen", "Go\u0308ttingen"},
		{"Das Amt in Göttingen hat auf.", "gottingen", "Göttingen"},
		{"Die Woh\u00adnungs\u00adgeber sagen es.", "Wohnungsgeber", "Woh\u00adnungs\u00adgeber"},
		{"with\u200bout noise", "without", "with\u200bout"},
		{"An eﬃcient pump", "efficient", "eﬃcient"},
		{"The captain’s log", "captain's", "captain’s"},
		{"It can’t be", "can't", "can’t"},
		{"dans l’eau claire", "eau", "eau"},
		{"eine E‑Mail", "e-mail", "Mail"},
		{"ＡＢＣ会社", "abc", "ＡＢＣ"},
		{"abc ｶﾀｶﾅ", "カタ", "ｶﾀ"},
		{"İstanbul limanı", "istanbul", "İstanbul"},
		{"DIYARBAKIR yolu", "Diyarbakır", "DIYARBAKIR"},
		{"die große Straße", "STRASSE", "Straße"},
		{"die grosse Strasse", "Straße", "Strasse"},
		{"ذهب مُحَمَّد إلى المدرســـة", "محمد", "مُحَمَّد"},
		{"ذهب مُحَمَّد إلى المدرســـة", "المدرسة", "المدرســـة"},
		{"הוא אמר שָׁלוֹם לכולם", "שלום", "שָׁלוֹם"},
		{"une crème brûlée", "creme brulee", "crème|brûlée"},
		{"une creme brulee", "crème", "creme"},
		{"ประเทศไทยมีหลายจังหวัด", "ไทย", "ไทย"},
		{"ປະເທດລາວມີແມ່ນ້ຳ", "ລາວ", "ລາວ"},
		{"ប្រទេសកម្ពុជាមានទន្លេ", "កម្ពុជា", "កម្ពុជា"},
		{"မြန်မာနိုင်ငံသည်", "နိုင်ငံ", "နိုင်ငံ"},
		{"학점인정은 봄에 한다", "학점인정", "학점인정"},
		{"Việt Nam", norm.NFD.String("Việt"), "Việt"},
		{"Drink H₂O daily", "h2o", "H₂O"},
	} {
		h := newHouse(t)
		h.add(h.ann, "a.txt", c.text)
		h.add(h.ann, "b.txt", "nothing of the sort")
		hits := h.search(h.ann, c.question)
		if len(hits) == 0 || hits[0].URI != "a.txt" {
			t.Errorf("%q in %q found %q", c.question, c.text, found(hits))
			continue
		}
		var marked []string
		runes := []rune(hits[0].Snippet)
		for _, s := range hits[0].Highlights {
			// Single characters of scripts without spaces are found beside the word.
			if s.End-s.Start > 1 {
				marked = append(marked, string(runes[s.Start:s.End]))
			}
		}
		if want := strings.Split(c.marked, "|"); !slices.Equal(marked, want) {
			t.Errorf("%q in %q marked %q, want %q", c.question, c.text, marked, want)
		}
	}
}
