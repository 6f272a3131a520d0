package agenttools_test

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"frontdesk/core/agenttools"
	"frontdesk/core/api"
)

var update = flag.Bool("update", false, "write the golden files anew")

// samples are tools with each kind of field.
func samples() []agenttools.Tool {
	return []agenttools.Tool{
		{
			Name: "book_meeting", Title: "Book a meeting", Description: "Books a meeting & invites.",
			Writes: true,
			Schema: json.RawMessage(`{"type":"object","properties":{
				"title":{"type":"string","description":"The title."},
				"attendee_emails":{"type":"array","description":"Whom to invite.","items":{"type":"string"}}},
				"required":["title"],"additionalProperties":false}`),
		},
		{
			Name: "find_slots", Title: "Find slots", Description: "Finds times.",
			Schema: json.RawMessage(`{"type":"object","properties":{
				"duration_minutes":{"type":"integer","description":"Length."}},"additionalProperties":false}`),
		},
		{
			Name: "look_up_caller", Title: "Look up who calls", Description: "Tells who may be calling.",
			CallerNumber: "phone_number", AboutCaller: true, Schema: json.RawMessage(`{"type":"object", "properties":{"email":{"type":"string","description":"An address."}},"additionalProperties":false}`),
		},
	}
}

func made(t *testing.T, platform string, tools []agenttools.Tool) agenttools.Made {
	t.Helper()
	m, err := agenttools.For(platform, agenttools.Setup{
		PublicURL: "https://desk.example.com/", TimeZone: "America/New_York", Tools: tools,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWhatIsPastedIntoEachPlatform(t *testing.T) {
	for _, id := range agenttools.IDs() {
		t.Run(id, func(t *testing.T) {
			m := made(t, id, samples())
			got := m.Definitions + "\n\n" + m.Prompt + "\n\n" + m.Address + " " + m.Header + "\n"
			file := filepath.Join("testdata", id+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s is not as it was. Read it, and write it anew with -update:\n%s", file, got)
			}
		})
	}
}

// real returns the tools of the interface.
func real() []agenttools.Tool {
	var all []agenttools.Tool
	for _, t := range api.Tools() {
		all = append(all, agenttools.Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, Schema: t.Schema,
			Writes: t.Writes, Destructive: t.Destructive, CallerNumber: t.CallerNumber, AboutCaller: t.AboutCaller,
		})
	}
	return all
}

func TestEveryToolIsOnEveryPlatform(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]{2,39}$`) // Vapi takes 40 characters, the others more
	for _, id := range agenttools.IDs() {
		m := made(t, id, real())
		if m.Platform.Language == "json" && !json.Valid([]byte(m.Definitions)) {
			t.Errorf("%s: the definitions are no JSON:\n%s", id, m.Definitions)
		}
		for _, tool := range real() {
			if !name.MatchString(tool.Name) {
				t.Errorf("the name %s does not fit all platforms", tool.Name)
			}
			if !strings.Contains(m.Definitions, `"`+tool.Name+`"`) {
				t.Errorf("%s has no %s", id, tool.Name)
			}
		}
		if len(m.Where) == 0 || m.Prompt == "" || !strings.HasPrefix(m.Address, "https://desk.example.com") {
			t.Errorf("%s says too little: %+v", id, m)
		}
	}
}

// Whatever a model says of the number that calls, no platform sends it. By an e-mail address it can ask on each of
// them, as the tool's description tells: who calls from a page or withholds the number can be known by that alone.
func TestNoModelSaysWhoCalls(t *testing.T) {
	schemas := map[string]func(tool map[string]any) (name string, properties any){
		"vapi": func(x map[string]any) (string, any) {
			return at(x, "function", "name").(string), at(x, "function", "parameters", "properties")
		},
		"retell": func(x map[string]any) (string, any) {
			return x["name"].(string), at(x, "parameters", "properties")
		},
		"telnyx": func(x map[string]any) (string, any) {
			return at(x, "webhook", "name").(string), at(x, "webhook", "body_parameters", "properties")
		},
		"json": func(x map[string]any) (string, any) {
			return x["name"].(string), at(x, "parameters", "properties")
		},
	}
	for id, of := range schemas {
		var tools []map[string]any
		if err := json.Unmarshal([]byte(made(t, id, real()).Definitions), &tools); err != nil {
			t.Fatal(id, err)
		}
		found := false
		for _, tool := range tools {
			if name, properties := of(tool); name == "look_up_caller" {
				found = true
				fields := properties.(map[string]any)
				if names := slices.Sorted(maps.Keys(fields)); !slices.Equal(names, []string{"email"}) {
					t.Errorf("%s: the model says %q of who calls, want its e-mail address alone", id, names)
				}
			}
		}
		if !found {
			t.Errorf("%s has no look_up_caller", id)
		}
	}
}

// Models give the default of a field that they read of. So they read of no rule that the office sets for its slots, but
// for the length of a meeting, whose default the schema does not tell as a number alone.
func TestAModelSetsNoRuleOfTheOffice(t *testing.T) {
	for _, tool := range real() {
		if tool.Name != "find_slots" {
			continue
		}
		var schema struct {
			Properties map[string]struct{ Description string }
		}
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		want := []string{"availability", "duration_minutes", "end", "hold_id", "limit", "per_day", "reschedule_meeting_id",
			"start", "time_zone"}
		if got := slices.Sorted(maps.Keys(schema.Properties)); !slices.Equal(got, want) {
			t.Errorf("a model sets %v, want %v", got, want)
		}
		if told := schema.Properties["duration_minutes"].Description; !strings.Contains(told, "the tenant's setting") {
			t.Errorf("of the length, a model reads %q", told)
		}
	}
}

// A model that reads of a field which it cannot set asks the caller for the number that the platform sends.
func TestNoToolTellsOfTheCallersNumber(t *testing.T) {
	for _, tool := range real() {
		told := tool.Description + string(tool.Schema)
		if tool.CallerNumber != "" && strings.Contains(told, tool.CallerNumber) {
			t.Errorf("%s tells of %s: %s", tool.Name, tool.CallerNumber, told)
		}
	}
}

// The prompts promise that a tool takes a place in the list for an id. That needs the id of the telephone call, which
// the gateway is told over MCP in this header alone.
func TestTheIDOfTheTelephoneCallIsSentOverMCP(t *testing.T) {
	for id, header := range map[string]string{
		"livekit": `"X-Call-Id": call,`, "pipecat": `"X-Call-Id": call,`, "openai": `"X-Call-Id": "CALL_ID"`,
	} {
		m := made(t, id, samples())
		if !strings.Contains(m.Definitions, header) {
			t.Errorf("%s does not send %s:\n%s", id, header, m.Definitions)
		}
		if steps := strings.Join(m.Where, " "); strings.Contains(header, "CALL_ID") && !strings.Contains(steps, "CALL_ID") {
			t.Errorf("%s does not say what CALL_ID is: %s", id, steps)
		}
	}
}

// Who tries the gateway on a desk has its own address there, which leads nowhere from the servers of a platform.
func TestAPlatformElsewhereCannotReachThisMachine(t *testing.T) {
	for id, elsewhere := range map[string]bool{
		"vapi": true, "retell": true, "elevenlabs": true, "telnyx": true, "openai": true,
		"openai-functions": false, "livekit": false, "pipecat": false, "json": false,
	} {
		for url, own := range map[string]bool{"http://127.0.0.1:8080": true, "https://desk.example.com": false} {
			m, err := agenttools.For(id, agenttools.Setup{PublicURL: url, Tools: samples()})
			if err != nil {
				t.Fatal(err)
			}
			if told := strings.Contains(m.Where[0], "cannot reach "+url); told != (elsewhere && own) {
				t.Errorf("%s at %s begins with: %s", id, url, m.Where[0])
			}
		}
	}
}

// A list that is sent takes the place of the agent's tools: without hangup, it cannot end a call anymore.
func TestAListThatReplacesToolsSaysSo(t *testing.T) {
	for id, kept := range map[string]string{
		"retell": "end_call", "telnyx": "hangup", "openai": "a transfer", "openai-functions": "a transfer",
	} {
		if steps := strings.Join(made(t, id, samples()).Where, " "); !strings.Contains(steps, "such as "+kept) {
			t.Errorf("%s does not say that %s would be gone: %s", id, kept, steps)
		}
	}
}

// What an agent says while a tool runs is a text of the definitions, which no model translates.
func TestSentencesInDefinitionsAreToBeTranslated(t *testing.T) {
	for _, id := range agenttools.IDs() {
		m := made(t, id, samples())
		speaks := strings.Contains(m.Definitions, "One moment")
		told := strings.Contains(strings.Join(m.Where, " "), "does not speak English, translate")
		if told != speaks {
			t.Errorf("%s: definitions with sentences %v, steps that say so %v", id, speaks, told)
		}
	}
}

// Whoever comes to a room by its name later, without a telephone, is another caller: the ticket of one is not that of
// the other.
func TestALiveKitRoomThatIsOpenedAgainIsAnotherCall(t *testing.T) {
	if code := made(t, "livekit", samples()).Definitions; strings.Contains(code, "room.name") ||
		!strings.Contains(code, `attributes.get("sip.callID", ctx.job.room.sid)`) {
		t.Errorf("the id of a call without a telephone is that of all in rooms of its name:\n%s", code)
	}
}

// The number of a ticket and the id of a contact may be as short as a place, and are taken as they are
// (core/toolcall): of two tickets that a caller has, "2" would be the ticket of somebody else. Nor has a place what a
// refusal offers, since a repeat of the refused call means what it meant.
func TestPlacesAreOfferedOnlyForSlotsAndMeetings(t *testing.T) {
	const offered = "In the place of the id of a slot or a meeting that find_slots or find_meetings gave you last"
	for _, id := range agenttools.IDs() {
		prompt := made(t, id, real()).Prompt
		if !strings.Contains(prompt, offered) || strings.Contains(prompt, "an id that") {
			t.Errorf("%s: places are offered for more:\n%s", id, prompt)
		}
		tickets := slices.DeleteFunc(real(), func(t agenttools.Tool) bool {
			return !strings.HasSuffix(t.Name, "_ticket")
		})
		if prompt := made(t, id, tickets).Prompt; strings.Contains(prompt, "slot") {
			t.Errorf("%s: a model that has no calendar is told of its tools:\n%s", id, prompt)
		}
	}
}

func at(value any, path ...string) any {
	for _, name := range path {
		value = value.(map[string]any)[name]
	}
	return value
}

// ElevenLabs refuses a property with no source for its value.
func TestEachValueHasASourceAtElevenLabs(t *testing.T) {
	var tools []struct {
		ToolConfig struct {
			Name      string
			APISchema struct {
				Body source `json:"request_body_schema"`
			} `json:"api_schema"`
		} `json:"tool_config"`
	}
	if err := json.Unmarshal([]byte(made(t, "elevenlabs", real()).Definitions), &tools); err != nil {
		t.Fatal(err)
	}
	if len(tools) != len(real()) {
		t.Fatalf("%d tools, not %d", len(tools), len(real()))
	}
	for _, tool := range tools {
		for name, p := range tool.ToolConfig.APISchema.Body.Properties {
			p.check(t, tool.ToolConfig.Name+"."+name)
		}
	}
}

type source struct {
	Type, Description string
	Items             *source
	Properties        map[string]source
}

func (s source) check(t *testing.T, path string) {
	t.Helper()
	if s.Description == "" {
		t.Errorf("%s has no source: %+v", path, s)
	}
	if s.Items != nil {
		s.Items.check(t, path+"[]")
	}
	for name, p := range s.Properties {
		p.check(t, path+"."+name)
	}
}

func TestThePromptHasWhatTheToolsNeed(t *testing.T) {
	reads := made(t, "vapi", samples()[1:2]).Prompt
	for _, not := range []string{"wait for a yes", "from a number alone"} {
		if strings.Contains(reads, not) {
			t.Errorf("a prompt for reading has %q:\n%s", not, reads)
		}
	}
	all := made(t, "retell", samples()).Prompt
	if !strings.Contains(all, "wait for a yes") || !strings.Contains(all, "{{current_time_America/New_York}}") {
		t.Errorf("the prompt is\n%s", all)
	}
	// Vapi's model gets one text, which has neither ok nor say.
	if text := made(t, "vapi", samples()).Prompt; strings.Contains(text, "has say") ||
		!strings.Contains(text, "begins with a sentence") {
		t.Errorf("the prompt at Vapi is\n%s", text)
	}
	// A model that sent a date in another form is not to ask the caller for what the caller has said.
	for _, id := range agenttools.IDs() {
		prompt := made(t, id, samples()).Prompt
		if !strings.Contains(prompt, "has fields, what you sent was not right") {
			t.Errorf("the prompt at %s has the caller asked for what is the model's to correct:\n%s", id, prompt)
		}
	}
	// Who is told the times of the business, without its time zone, takes them for those of the clock on the wall.
	const elsewhere = "in another time zone than the business"
	if prompt := made(t, "retell", real()).Prompt; !strings.Contains(prompt, elsewhere) {
		t.Errorf("the prompt leaves a caller elsewhere to guess whose time it is:\n%s", prompt)
	}
	if strings.Contains(all, elsewhere) {
		t.Errorf("the prompt names a field that no tool has:\n%s", all)
	}
	unknown, err := agenttools.For("retell", agenttools.Setup{PublicURL: "https://desk.example.com"})
	if err != nil || strings.Contains(unknown.Prompt, "time zone of the business") {
		t.Errorf("without a time zone: %v\n%s", err, unknown.Prompt)
	}
}

func TestAnUnknownPlatformAndABrokenSchemaAreRefused(t *testing.T) {
	if _, err := agenttools.For("none", agenttools.Setup{}); !errors.Is(err, agenttools.ErrUnknown) {
		t.Errorf("an unknown platform: %v", err)
	}
	for _, schema := range []string{`[]`, `{"type":"string"}`, `{`} {
		_, err := agenttools.For("vapi", agenttools.Setup{
			Tools: []agenttools.Tool{{Name: "x", Schema: json.RawMessage(schema)}},
		})
		if err == nil {
			t.Errorf("%s was taken for the schema of a body", schema)
		}
	}
}
