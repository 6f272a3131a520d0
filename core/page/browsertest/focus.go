package browsertest

// Stop is a control on which the keyboard's focus rests.
type Stop struct {
	Name   string   // as a screen reader says it
	At     int      // its place among those that can be focused, in the order of the document; -1: none of them
	Faults []string // why somebody might not see that the focus is here
}

// Order is what can be focused on a page.
type Order struct {
	Stops int
	Odd   []string // what is not in the order in which people read
	Wider bool     // the page is wider than the window
}

// Focused returns the control with the focus. [Browser.Order] must have been called on the page.
func (b *Browser) Focused() (s Stop) {
	b.t.Helper()
	b.Eval(`focused()`, &s)
	return s
}

// Order returns what can be focused on the page, as it is now.
func (b *Browser) Order() (o Order) {
	b.t.Helper()
	b.Eval(order, &o)
	return o
}

// WalkByTab presses Tab through a page that was just opened. It reports an error unless the focus is on each
// control once, in the order in which they are read, where it can be seen, and then leaves the page. It
// returns the name of the first control.
func (b *Browser) WalkByTab(page string) (first string) {
	b.t.Helper()
	o := b.Order()
	if len(o.Odd) > 0 || o.Wider {
		b.t.Errorf("%s: wider than the window: %v; not in the order of reading: %q", page, o.Wider, o.Odd)
	}
	s := Stop{At: -1}
	tab := func(at int) {
		b.Key("Tab")
		s = b.Focused()
		for parts := 0; at > 0 && s.At == at-1 && parts < 6; parts++ { // of a field for a date or a time
			b.Key("Tab")
			s = b.Focused()
		}
	}
	for at := range o.Stops {
		if tab(at); s.At != at || s.Name == "" || len(s.Faults) > 0 {
			b.t.Errorf("%s: after %d times Tab, the focus is on %+v", page, at+1, s)
		}
		if at == 0 {
			first = s.Name
		}
	}
	if tab(o.Stops); s.At > 0 || s.At == 0 && o.Stops == 0 {
		b.t.Errorf("%s: the focus is held on %+v", page, s)
	}
	return first
}

// focused describes the control with the focus. Its outline must be there, at least two pixels wide, and have
// a contrast of 3 to 1 to what is around it (WCAG 2.2 success criteria 1.4.11, 2.4.7 and 2.4.13); the control
// must be in the window, at least a line of it, and not behind anything (2.4.11). The page keeps it: a walk asks for
// each control, and compiling it anew would take longer than the answer.
const focused = `window.focused = () => {
	const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const paper = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
	const e = document.activeElement, style = getComputedStyle(e), box = e.getClientRects()[0], Faults = [];
	if (e === document.body) return {Name: '', At: -1, Faults};
	const a = light(style.outlineColor), b = light(paper(e.parentElement)), contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	if (style.outlineStyle !== 'auto' && (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2 || contrast < 3))
		Faults.push('outline ' + style.outline + ', contrast ' + contrast);
	const top = Math.max(box.top, 0), bottom = Math.min(box.bottom, innerHeight);
	const there = document.elementFromPoint(box.left + Math.min(box.width / 2, 40), (top + bottom) / 2);
	if (bottom - top < 16) Faults.push('outside the window');
	else if (!there || !e.contains(there) && !there.contains(e)) Faults.push('behind ' + there?.outerHTML.slice(0, 60));
	return {Name: (e.ariaLabel || e.labels?.[0]?.innerText || e.innerText || '').trim(), At: focusable.indexOf(e), Faults};
};`

// order lists what can be focused, in the order of the document, and says where that is not the order in
// which people read: downwards, and from left to right. Of a group of radio buttons, one can be reached with
// Tab: the chosen one, or else the first.
const order = focused + `(() => {
	const group = e => [...document.getElementsByName(e.name)], reached = e => e.checked || !group(e).some(o => o.checked) && group(e)[0] === e;
	window.focusable = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')].filter(e =>
		e.checkVisibility() && !e.matches(':disabled') && e.tabIndex >= 0 && (e.type !== 'radio' || reached(e)));
	const all = focusable, Odd = [];
	for (let i = 1; i < all.length; i++) {
		const region = e => e.closest('nav, header, main'), a = all[i - 1].getBoundingClientRect(), b = all[i].getBoundingClientRect();
		if (region(all[i - 1]) === region(all[i]) && (b.bottom <= a.top || b.top < a.bottom && a.top < b.bottom && b.right <= a.left))
			Odd.push(all[i - 1].outerHTML + ' before ' + all[i].outerHTML);
	}
	return {Stops: all.length, Odd, Wider: document.documentElement.scrollWidth > innerWidth};
})()`
