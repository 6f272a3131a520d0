package fake

import (
	"html"
	"regexp"
	"strings"
)

func escape(s string) string { return html.EscapeString(s) }

const line = "________________________________________________________________________________"

// blob returns the part about joining, as Teams writes it below the text since 2025: with a short link to join by, and
// the one that Graph tells as a reference.
func blob(join string) string {
	const short = "https://teams.microsoft.com/meet/2974581219040?p=EGTB6CDyi5NqDcKFoH"
	rule := `<div aria-hidden="true" style="margin-bottom:24px; white-space:nowrap">` + line + "</div>\r\n"
	return "<br>\r\n" + `<div class="me-email-text" lang="en-US" style="max-width:1024px">` + "\r\n" + rule +
		`<div><span class="me-email-text">Microsoft Teams meeting</span></div>` + "\r\n" +
		`<div><span class="me-email-text">Join: </span><a href="` + short +
		`" id="meet_invite_block.action.join_link">` + short + "</a></div>\r\n" +
		`<div style="margin-bottom:12px"><hr style="border:0"></div>` + "\r\n" +
		`<div><a href="https://aka.ms/JoinTeamsMeeting?omkt=en-US">Need help?</a> <span>|</span> <a href="` +
		escape(join) + `" id="meet_invite_block.action.join_link_compatibility">System reference</a></div>` + "\r\n" +
		rule + "</div>\r\n"
}

func page(text, below string) string {
	return "<html><head><meta http-equiv=\"Content-Type\" content=\"text/html; " +
		"charset=utf-8\"></head><body>\r\n<div>" +
		strings.ReplaceAll(escape(text), "\n", "<br>\r\n") + "</div>\r\n" + below + "</body></html>"
}

func plainOf(b itemBody) string {
	if strings.EqualFold(b.ContentType, "text") {
		return b.Content
	}
	return strings.TrimRight(textOf(b.Content), "\n")
}

var (
	anchor = regexp.MustCompile(`(?s)<a\s[^>]*href="([^"]*)"[^>]*>(.*?)</a>`)
	across = regexp.MustCompile(`<hr[^>]*>`)
	breaks = regexp.MustCompile(`<br>|</div>|</p>`)
	tag    = regexp.MustCompile(`<[^>]*>`)
)

// textOf converts an HTML page into text.
func textOf(page string) string {
	page = strings.ReplaceAll(strings.ReplaceAll(page, "\r\n", ""), "\n", "")
	page = anchor.ReplaceAllString(page, "$2&lt;$1&gt;")
	page = breaks.ReplaceAllString(across.ReplaceAllString(page, "________________________________"), "\n")
	return html.UnescapeString(tag.ReplaceAllString(page, ""))
}

// as returns the body in the preferred format, by default HTML. The lines of a text end with CRLF, the last
// one as well.
func (b itemBody) as(kind string) itemBody {
	if kind != "text" {
		if strings.EqualFold(b.ContentType, "text") {
			return itemBody{ContentType: "html", Content: page(b.Content, "")}
		}
		return itemBody{ContentType: "html", Content: b.Content}
	}
	text := plainOf(b)
	if text == "" {
		return itemBody{ContentType: "text"}
	}
	return itemBody{ContentType: "text", Content: strings.ReplaceAll(text, "\n", "\r\n") + "\r\n"}
}
