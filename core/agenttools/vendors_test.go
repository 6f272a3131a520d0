package agenttools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"frontdesk/core/page/browsertest"
)

// vendors are the packages with the types of what is pasted into the platforms. LiveKit and Pipecat take
// Python, of which there are none.
var vendors = []string{"@vapi-ai/server-sdk", "retell-sdk", "@elevenlabs/elevenlabs-js", "telnyx", "openai"}

// checked is a program in which each platform's definitions have the type that the platform's own package
// gives them. Of each, a wrong one follows that must not compile: types that were not found would take
// anything.
const checked = `
import type { Vapi } from "@vapi-ai/server-sdk";
import type { LlmCreateParams } from "retell-sdk/resources/llm";
import type { ToolRequestModel } from "@elevenlabs/elevenlabs-js/dist/serialization/types/ToolRequestModel";
import type { AssistantTool } from "telnyx/resources/ai/assistants/assistants";
import type { SessionUpdateEvent } from "openai/resources/realtime/realtime";

type VapiTool = Vapi.CreateToolsRequest.Function;
type RetellTools = NonNullable<LlmCreateParams["general_tools"]>;

export const vapi: VapiTool[] = DEFINITIONS_OF_vapi;
export const retell: RetellTools = DEFINITIONS_OF_retell;
export const elevenlabs: ToolRequestModel.Raw[] = DEFINITIONS_OF_elevenlabs;
export const telnyx: AssistantTool[] = DEFINITIONS_OF_telnyx;
export const openai: SessionUpdateEvent = DEFINITIONS_OF_openai;
export const functions: SessionUpdateEvent = DEFINITIONS_OF_openai-functions;

// @ts-expect-error
export const notVapi: VapiTool[] = [{ ...vapi[0]!, server: { timeoutSeconds: "15" } }];
// @ts-expect-error
export const notRetell: RetellTools = [{ type: "custom", name: "x", url: "y", timeout: 15 }];
const tool = elevenlabs[0]!.tool_config;
// @ts-expect-error
export const notElevenLabs: ToolRequestModel.Raw[] = [{ tool_config: { ...tool, name: 1 } }];
// @ts-expect-error
export const notTelnyx: AssistantTool[] = [{ type: "webhook", webhook: { name: "x", url: "y" } }];
// @ts-expect-error
export const notOpenAI: SessionUpdateEvent["session"] = { type: "realtime", tools: [{ type: "tool" }] };
`

const compiler = `{"compilerOptions": {"strict": true, "noEmit": true, "skipLibCheck": true, "types": [],
	"module": "nodenext", "moduleResolution": "nodenext", "target": "es2022"}, "files": ["checked.ts"]}`

func TestDefinitionsFitTheVendorsTypes(t *testing.T) {
	tsc := filepath.Join(browsertest.Package(t, "typescript"), "bin", "tsc")
	for _, vendor := range vendors {
		browsertest.Package(t, vendor)
	}
	program := checked
	for _, id := range []string{"vapi", "retell", "elevenlabs", "telnyx", "openai-functions", "openai"} {
		program = strings.ReplaceAll(program, "DEFINITIONS_OF_"+id+";", made(t, id, real()).Definitions+";")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"checked.ts": program, "tsconfig.json": compiler} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packages := filepath.Join(os.Getenv("FRONTDESK_TEST_NPM"), "node_modules")
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), tsc, "-p", dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
