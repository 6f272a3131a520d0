package rest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"
)

// hostileAnswers returns steps as expressions see them, with the responses of a hostile ticket system.
func hostileAnswers(t testing.TB) map[string]any {
	t.Helper()
	many := make([]any, 20_000)
	for i := range many {
		many[i] = map[string]any{"id": i}
	}
	deep := any("end")
	for range 500 {
		deep = []any{deep}
	}
	body := map[string]any{
		"one": "x", "text": strings.Repeat("a", 1<<20), "words": strings.Repeat("a b ", 1<<18), "n": 1_000_000_000,
		"huge": json.Number(strings.Repeat("9", 2000)), "list": many, "deep": deep,
		"wide": []any{make([]any, 50_000)}, "json": strings.Repeat("[{},", 1<<18), "re": "(a*)*b{1000}",
		"pattern": "((a{100}){10}|b){1}", "format": strings.Repeat("%c", 1<<18), "width": "%1000000000Y",
		"padded": strings.Repeat("%999Y", 100_000),
		"minus":  -1,
	}
	return map[string]any{"steps": map[string]any{"t": map[string]any{
		"status": 200, "headers": map[string]any{}, "body": body,
	}}}
}

// attacks are expressions that make gigabytes or would run for ever.
var attacks = []string{
	`"x" * 1000000000`, `.one * .n`, `.text * 2000`, `.text * .huge`, `.n * .one`,
	`reduce range(40) as $i (.one; . + .)`,
	`.one | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+. | .+.`,
	`def d: . + .; .text | d | d | d | d | d | d | d | d | d | d | d | d`, `def f: [.,.] | f; 1 | f`,
	`def f: 1 + f; f`, `def f: f, f; [f]`, `def f: f | f; f`,
	`reduce range(60) as $i (0; [., .]) | tojson`, `reduce range(60) as $i (0; {a: ., b: .}) | tostring`,
	`reduce range(60) as $i (0; [., .]) | flatten`,
	`reduce range(60) as $i (0; [., .]) == 1`, `[[limit(60; repeat(0))] | combinations]`, `[range(1000000000)]`,
	`[repeat(0)]`, `[repeat("x")] | add`, `[recurse(. + 1; true)]`,
	`[limit(1000000000; repeat(1))] | length`, `last(repeat(0))`, `until(false; .)`, `[while(true; .)]`,
	`0 | until(. < 0; . + 1)`, `foreach repeat(1) as $i (""; . + "xxxxxxxxxxxxxxxx"; empty)`,
	`null | .[500000000] = 1`, `null | .[.n] = 1`, `. as $t | null | .[$t.n] = 1`, `setpath([500000000]; 1)`,
	`[.list[] | tojson] | join(.[0] * 100000)`, `.text as $s | .list | map("a") | join($s)`,
	`.text as $s | [.list[] | $s + "x"]`, `[.list[] as $a | .list[] as $b | [$a, $b]]`,
	`[.list[] as $a | $a | tojson | . * 100000]`, `.list | map(.id) | [.[] as $i | [range($i)]]`,
	`[.wide[0][] | [.]] | transpose`, `[.wide[], (.wide[0][] | [])] | transpose`,
	`.text | explode | implode | explode | map([.]) | tojson`, `.json | fromjson`, `.text | [match("a"; "g")]`,
	`.text | [match(""; "g")]`,
	`.text as $s | $s | gsub("a"; $s)`, `.text | gsub(""; "xxxxxxxxxxxxxxxx")`,
	`.text as $s | $s | gsub("(?<x>a)"; $s + .x)`, `.text | [scan("a")]`, `.text | [scan(".")] | map({a: .})`,
	`.text | [splits("a")]`, `.text | split("")`,
	`.words / " "`, `.words / "" | map([.]) | tojson`, `.words | [capture("(?<w>[a-z])"; "g")]`,
	`.text as $s | .re as $r | $s | test($r)`, `.text | test(("(a{1000}|b{1000}){1}" * 30))`,
	`.pattern as $p | .text | [match($p; "g")]`,
	`"(?:" + "a" * 980 + "){1000}" as $p | "" | test($p)`, `"(?:" + "a?" * 480 + "){1000}" as $p | "" | [match($p)]`,
	`.text | @json | @json | @json | @json | @json | @html | @html | @uri | @uri | @uri`,
	`.text | @base64 | @base64 | @base64 | @base64 | @base64 | @base64 | @base64 | @base64 | @base64 | @base64 | @base64`,
	`.text | [limit(100; repeat(@uri))] | add`, `.list | [limit(2000; repeat(.))] | add`,
	`.list | [limit(500; repeat(.))] | flatten`, `.list | [limit(500; repeat(tojson))]`,
	`.list | [limit(500; repeat(map({id, all: .})))]`,
	`reduce range(40) as $i (10; . * .)`, `.huge | tonumber | reduce range(30) as $i (.; . * .)`,
	`[.huge | tonumber | limit(10000; repeat(. * .))]`, `pow(10; 1000000)`,
	`.format as $f | 0 | [limit(100; repeat(strftime($f)))]`, `.width as $w | 0 | strftime($w)`,
	`.padded as $p | 0 | strftime($p)`,
	`.deep | [recurse(.[]?)] | map(tojson) | add`, `.deep | [limit(100000; repeat([.]))] | tojson`,
	`.deep | [paths]`, `.deep | [tostream]`, `[.. | tojson] | add`, `[.. | [..]]`,
	`.list | group_by(.id) | map(. * 2)`,
	`.list | [.[] as $x | map(. == $x)]`, `.list | with_entries(.value = .value * 100)`,
	`.list | to_entries | map(.value |= tojson) | map(.value * 10000)`, `.list | walk([., .])`,
	`[limit(30; .one | recurse(. + .))]`,
	`try error(.text * 2000) catch (. * 1000)`, `[repeat(try (.text * 500) catch .one)]`,
	`[repeat((.text + .text)?)]`, `label $f | [repeat(., break $f)] | [repeat(0)]`,
	`.text as [$a, $b] | [repeat($a)]`,
	`"\(.text)\(.text)\(.text)" | "\(.)\(.)\(.)" | "\(.)\(.)\(.)" | "\(.)\(.)\(.)"`,
	`.a.b.c |= ([range(100000000)])`, `.a += (.text * 4000)`,
	`{(.text): .text} | [limit(1000; repeat(. + {(tojson): 1}))]`,
	`[.list[] | {a: ., b: ., c: ., d: .}] | map([., ., ., .]) | map([., ., ., .]) | map([., ., ., .]) | map([., ., ., .])`,
	`.text | indices("a") | map([.]) | map([.]) | map([.]) | map([.])`, `[.text | indices("")]`,
	`.list | map_values([limit(1000; repeat(1))])`, `$__loc__`, `input`, `[inputs]`, `getpath([.n])`,
	`.text[.minus:] * 100000000`, `def test(x): 1; 1`, `. as $fd_work | 1`, `$fd_work`, `{$fd_work}`,
}

// TestNoExpressionMakesMoreThanItsShare evaluates expressions that try to take the process down, on hostile
// responses. It counts everything that they allocate, including garbage that was collected, so less is in use
// at one time.
func TestNoExpressionMakesMoreThanItsShare(t *testing.T) {
	input := hostileAnswers(t)
	const most = 96 << 20
	refused := 0
	var worst uint64
	for _, source := range attacks {
		e, problem := newParser(nil).parse("place", ".steps.t.body | "+source)
		if strings.HasPrefix(source, "def ") {
			e, problem = newParser(nil).parse("place", strings.Replace(source, "; ", "; .steps.t.body | ", 1))
		}
		if problem != "" {
			refused++
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := e.value(t.Context(), input)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		made := after.TotalAlloc - before.TotalAlloc
		worst = max(worst, made)
		if made > most {
			t.Errorf("%s makes %d MiB in %s (%v)", source, made>>20, took, err)
		}
		t.Logf("%4d MiB %8s %v %s", made>>20, took.Round(time.Millisecond), err, source)
	}
	t.Logf("%d attacks, %d refused when given, the others make %d MiB at most", len(attacks), refused, worst>>20)
}

// Settings have room for an expression that takes half a minute and hundreds of megabytes to compile.
func TestNoExpressionTakesLongToCompile(t *testing.T) {
	sum := func(bytes int) string { return "1" + strings.Repeat("+1", bytes/2) }
	if _, problem := newParser(nil).parse("place", sum(100_000)); !strings.Contains(problem, "more than 4096 bytes") {
		t.Errorf("a long one is compiled: %.200q", problem)
	}
	if _, problem := newParser(nil).parse("place", sum(4000)); problem != "" {
		t.Errorf("one that may be: %.200q", problem)
	}
}

func TestTheSizeOfAValueCountsWhatIsInside(t *testing.T) {
	t.Parallel()
	type list = []any
	type object = map[string]any
	for _, c := range []struct {
		what  string
		value any
		over  bool
	}{
		{"no text", nil, false},
		{"a text that fits", "12345678", false},
		{"a longer text", "123456789", true},
		{"a list that fits", list{"1234", "5678"}, false},
		{"a list of too long texts", list{"1234", "56789"}, true},
		{"a list of too many", list{1, 2, 3, 4}, true},
		{"a list in a list", list{list{1, 2}}, false},
		{"too many in a list in a list", list{list{1, 2, 3}}, true},
		{"an object that fits", object{"a": "1234567"}, false},
		{"a name that is too long", object{"123456789": 1}, true},
		{"a name and a value that are too long together", object{"a": "12345678"}, true},
		{"an object of too many", object{"a": 1, "b": 2, "c": 3, "d": 4}, true},
		{"too many in an object in a list", list{object{"a": 1, "b": 2, "c": 3}}, true},
		{"too long a text deep inside", object{"a": list{object{"b": "1234567"}}}, true},
	} {
		if over := (&budget{bytes: 8, members: 3}).exceeds(c.value); over != c.over {
			t.Errorf("%s: exceeds is %t", c.what, over)
		}
	}
}

// TestCountingChangesNoValue compares expressions that count what they make with the same expressions as
// written.
func TestCountingChangesNoValue(t *testing.T) {
	t.Parallel()
	input := map[string]any{
		"a": 7, "b": 2.5, "s": "a-b-c", "t": "Größe: 3 x", "n": nil, "y": true, "l": []any{3, 1, 2, 1},
		"o": map[string]any{"k": "v", "m": nil},
		"list": []any{
			map[string]any{"id": 1, "n": "x"}, map[string]any{"id": 2, "n": "y"}, map[string]any{"id": 3, "n": "x"},
		},
	}
	for _, source := range []string{
		".a + .b", ".a - .b, .a * .b, .a / .b, .a % 2", "-.a", "-(.a, .b)", `.s * 2`, `"ab" * 0`, `.s / "-"`,
		`(.s, .t) / "-"`, `(2, 3) * (.a, .b)`, `{a: {b: 1}} * {a: {c: 2}}`, `.l + .l`, `.l - [1]`, `.o + {k: 1}`,
		`"x\(.a)y\(.l)"`, `@json "x\(.s)"`, `.s | @uri, @html, @base64, @json, @text`, `@csv "\(.l)"`,
		`[.l[] | . * 2]`, `[.list[] | {id, (.n): .id, "k\(.id)": 1, s: @json}]`, `.a as $v | {"b": $v, $v}`,
		`. as {a: $x, l: [$f, $g], o: {k: $v}} | [$x, $f, $g, $v]`,
		`.list | map(select(.n == "x").id)`, `[.list[] | select(.n | test("X"; "i"))] | length`,
		`.t | test("3 x$")`, `.t | test(["größe", "i"])`, `.t | sub("(?<d>[0-9]+)"; "<\(.d)>")`,
		`.s | gsub("-"; "+", "/")`, `.s | gsub("-(?<x>.)"; .x; "g")`, `.s | [match("-"; "g").offset]`,
		`.s | [scan("[a-c]")]`, `.s | [splits("-")]`, `.s | split("-")`, `.s | split("-"; null)`,
		`.t | capture("(?<w>[a-z]+)"; "i")`, `.l | sort, unique, reverse, add, min, max, length, first, last`,
		`.list | group_by(.n) | map(length)`, `.list | sort_by(-.id) | map(.id)`,
		`.list | INDEX(.id) | keys`, `.o | to_entries`, `.o | with_entries(.value |= tostring)`,
		`[limit(3; repeat("x"))]`, `first(.list[] | select(.id > 1))`, `[range(5)]`, `[range(0; 10; 3)]`,
		`reduce .l[] as $x (0; . + $x)`, `[foreach .l[] as $x (0; . + $x; [$x, .])]`,
		`def f(x): x + 1; f(.a)`, `def f($x): $x + 1; [f(.l[])]`,
		`def fac: if . <= 1 then 1 else . * (. - 1 | fac) end; .a | fac`,
		`label $out | .l[] | if . == 2 then ., break $out else . end`, `try error("x") catch .`, `[.l[]?, .s[]?]`,
		`.n // "none"`, `if .y then "a" elif .n then "b" else "c" end`,
		`.a = 1`, `.o.k |= ascii_upcase`, `.l[0] += 5`, `del(.o.k, .l[1])`, `del(.list[] | select(.n == "x"))`,
		`.x.y = 1`, `.list[].n = "z"`, `.list |= map(.id)`, `.s[0:1] + .s[2:]`, `[.l[1:], .l[:1]]`, `.l[-1]`,
		`.o["k"]`, `[..]|length`, `[recurse(.[]?)] | length`,
		`.s | explode | implode`, `.o | tojson | fromjson`, `.s | ascii_upcase | ltrimstr("A") | rtrimstr("C")`,
		`[1, [2, [3]]] | flatten, flatten(1)`, `0 | todate`, `0 | strftime("%Y-%m")`,
		`"2026-05-01T00:00:00Z" | fromdate`, `.s | index("-"), rindex("-"), indices("-")`,
		`.l | walk(if type == "number" then . + 1 else . end)`,
		`.l | join(",")`, `.l | any(. == 2), all(. > 0)`, `.o | given`, `.s | quoted`, `.l | IN([3, 1, 2, 1])`,
		`isempty(.l[])`, `.l | (.[0], .[1]) = 9`, `.a as $x | .b as $y | $x * $y`, `([.l[] | . * 2] | add) / 2`,
		`"\(1, 2) \(3, 4)"`, `[.l[] as $x | .l[] as $y | $x * $y + $x / $y]`,
	} {
		query, err := gojq.Parse(source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		plain, err := gojq.Compile(query, gojq.WithFunction("given", 0, 0, dropNulls),
			gojq.WithFunction("quoted", 0, 0, quote))
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		e, problem := newParser(nil).parse("place", source)
		if problem != "" {
			t.Errorf("%s %s", source, problem)
			continue
		}
		want, got := allOf(plain.Run(input)), allOf(e.code.Run(input, &work{bytes: maxMadeBytes}))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s gives %v, want %v", source, got, want)
		}
	}
}

func allOf(iter gojq.Iter) (all []string) {
	for {
		v, more := iter.Next()
		if !more {
			return all
		}
		all = append(all, fmt.Sprintf("%T %v", v, v))
	}
}
