// Package spelling finds the known name that a mistyped one most likely stands for.
package spelling

import (
	"strings"
	"unicode/utf8"
)

// longestName bounds the cost of a comparison. Nothing longer counts as a mistyped name.
const longestName = 64

// Nearest returns the known name that was most likely meant, or "" if none is near. A name is near if few of
// its letters differ, whatever their case. It is also near if the given name consists of some of its words,
// as "attendees" does of "attendee_emails", and no other name matches equally well.
func Nearest(given string, known []string) string {
	given = strings.TrimSpace(given)
	if given == "" || utf8.RuneCountInString(given) > longestName {
		return ""
	}
	best, fewest := "", longestName
	for _, name := range known {
		if n := len(given) - len(name); n > 4*utf8.UTFMax || n < -4*utf8.UTFMax {
			continue // more letters differ than are tolerated
		}
		if d := Distance(given, name); d < fewest && d <= tolerance(given, name) {
			best, fewest = name, d
		}
	}
	if best != "" {
		return best
	}
	return nearestByWords(given, known)
}

// tolerance returns how many letters may differ: one in three, four at most.
func tolerance(a, b string) int {
	return min(4, max(utf8.RuneCountInString(a), utf8.RuneCountInString(b))/3)
}

func nearestByWords(given string, known []string) string {
	wanted := wordsOf(given)
	best, fewest := "", longestName
	for _, name := range known {
		words := wordsOf(name)
		left := len(words) - len(wanted)
		if left < 0 || left > fewest || !within(wanted, words) {
			continue
		}
		if left == fewest {
			best = "" // two names match equally well: neither counts
			continue
		}
		best, fewest = name, left
	}
	return best
}

func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name),
		func(r rune) bool { return strings.ContainsRune("_-/. ", r) })
}

// within reports whether each wanted word is one of words. A word of more than three letters may differ by
// one.
func within(wanted, words []string) bool {
	for _, w := range wanted {
		found := false
		for _, word := range words {
			found = found || w == word || len(w) > 3 && Distance(w, word) == 1
		}
		if !found {
			return false
		}
	}
	return len(wanted) > 0
}

// Distance returns how many letters have to be inserted, removed, changed or swapped with their neighbour to
// turn one name into the other (optimal string alignment), whatever their case. It is 64 if either name is
// longer than 64 letters.
func Distance(a, b string) int {
	from, to := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	if len(from) > longestName || len(to) > longestName {
		return longestName
	}
	var older, old, row [longestName + 1]int
	for j := range len(to) + 1 {
		old[j] = j
	}
	for i := 1; i <= len(from); i++ {
		row[0] = i
		for j := 1; j <= len(to); j++ {
			change := old[j-1]
			if from[i-1] != to[j-1] {
				change++
			}
			row[j] = min(change, old[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(to)]
}
