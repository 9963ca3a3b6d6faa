# Shortens what go test says: of the goroutines that a panic lists those are shown that run
# a test, and a few that a test started; at the end stands what failed.

BEGIN { most = 8 } # goroutines that a test started, of one panic

/^goroutine [0-9]+ .*:$/ {
	show_block()
	in_list = 1
}

# Where a list of goroutines is over: a line of go test itself.
/^(ok  |FAIL|PASS|---|===|\?   |panic: |exit status|\*\*\*)/ { end_list() }

in_list {
	block = block $0 "\n"
	next
}

{ print; fflush() }

# What is named at the end: tests that failed and what they said, tests that ran when the
# time was over, and packages.
/^ *--- FAIL: / || /^panic: / || /^\*\*\* / || /^FAIL[ \t]/ || /^\t+Test[^ ]* \(/ { note($0); said = 3; next }
said > 0 && /_test\.go:[0-9]+: / { note($0); said-- }

END {
	end_list()
	if (noted > 0) {
		print "\nwhat failed:"
		for (i = 1; i <= noted; i++) print notes[i]
	}
}

function show_block() {
	if (block == "") return
	if (block ~ /testing\.tRunner/ || block ~ /_test\.go:/ && ++shown <= most) printf "%s", block
	else left++
	block = ""
}

function end_list() {
	show_block()
	if (left > 0) print "[" left " more goroutines]"
	in_list = left = shown = 0
}

function note(line) { if (noted < 200) notes[++noted] = line }
