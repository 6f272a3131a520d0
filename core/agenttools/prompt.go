package agenttools

import "strings"

// prompt returns the lines of a prompt that go with the tools.
func prompt(p Platform, zone string, tools []callable) string {
	var writes, looksUp, takesZone, lists bool
	for _, t := range tools {
		writes = writes || t.Writes
		looksUp = looksUp || t.AboutCaller
		_, has := t.schema.Properties["time_zone"]
		takesZone = takesZone || has
		lists = lists || t.Name == "find_slots" || t.Name == "find_meetings"
	}
	lines := []string{"You answer the telephone at the front desk of a business."}
	switch {
	case p.overMCP:
		lines = append(lines, "Ask "+clock+" before you speak of today, tomorrow or next week.")
	case p.now != nil:
		lines = append(lines, "It is now "+p.now(zone)+".")
	default:
		lines = append(lines, "It is now [your code puts the weekday, the date and the time here].")
	}
	if zone != "" {
		lines = append(lines, "The time zone of the business is "+zone+". Give tools times in it.")
	}
	if takesZone {
		lines = append(lines, "If the caller is in another time zone than the business, give the caller's to the "+
			"tools that take time_zone, with times in it, and say that the times are the caller's.")
	}
	lines = append(lines,
		"Say times as people do: the weekday, the day and the hour, without the year and the time zone.",
		"Never make up an id, a number or an address. Use only those that a tool or the caller gave you.")
	if lists {
		lines = append(lines, "In the place of the id of a slot or a meeting that find_slots or find_meetings gave "+
			"you last, you can give its place in the list, such as 2 or last. Give the id of a slot in nearest_slots, "+
			"the number of a ticket and the id of a contact as they are.")
	}
	if writes {
		lines = append(lines,
			"Before you book, change, cancel or open anything, say back what you will do, and wait for a yes.",
			"If a tool that changes something gives no answer, call it once more with exactly the same values: it "+
				"does not do the same thing twice.")
	}
	if looksUp {
		lines = append(lines,
			"Nobody is certain from a number alone. Ask for the name before you speak of anything private.")
	}
	if p.overMCP || p.asText {
		lines = append(lines, "The result of a tool begins with a sentence. You can say it as it is.",
			"If the JSON after the sentence has fields, what you sent was not right. Do not say the sentence: correct "+
				"what you sent, and call the tool again. Ask the caller only for what you do not know.",
			"If it has message and no fields, do what that asks for.")
	} else {
		lines = append(lines,
			"If the answer of a tool has say, you can say it as it is.",
			"If the answer of a tool has fields, what you sent was not right. Do not say what say has: correct what "+
				"you sent, and call the tool again. Ask the caller only for what you do not know.",
			"If ok is false and there are no fields, say what say has, and do what message asks for.")
	}
	return "- " + strings.Join(lines, "\n- ")
}
