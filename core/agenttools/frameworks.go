package agenttools

import (
	"fmt"
	"strings"
)

// Sources: livekit/agents at da6af86a, livekit-agents/livekit/agents/llm/mcp.py (the URL must end in /mcp or
// name its transport; a session waits 5 s for a result unless told), and pipecat-ai/pipecat at acead050,
// src/pipecat/services/mcp_service.py. In LiveKit, sip.phoneNumber and sip.callID are attributes of whoever calls
// (docs.livekit.io/sip/sip-participant). A dispatch rule may bring many calls into one room, so that the room is the
// call only where there is no other id: by its session, since a room of the same name is opened again once all have
// left (docs.livekit.io, "Room management").

const liveKitCode = `import os

from livekit.agents import mcp


def frontdesk(caller: str, call: str) -> mcp.MCPServerHTTP:
    return mcp.MCPServerHTTP(
        url=%q,
        transport_type="streamable_http",
        headers={
            "X-Api-Key": os.environ["FRONTDESK_API_KEY"],
            "X-Caller-Number": caller or "unknown",
            "X-Request-Id": call,
            "X-Call-Id": call,
        },
        allowed_tools=[
%s
        ],
        timeout=%d,
        client_session_timeout_seconds=%[3]d,
    )


# In the entrypoint, before the session starts:
#
#     participant = await ctx.wait_for_participant()
#     caller = participant.attributes.get("sip.phoneNumber", "")
#     call = participant.attributes.get("sip.callID", ctx.job.room.sid)
#     session = AgentSession(mcp_servers=[frontdesk(caller, call)], ...)`

func liveKit() Platform {
	return Platform{
		ID: "livekit", Name: "LiveKit Agents", Language: "python", overMCP: true,
		where: []string{
			"Set FRONTDESK_API_KEY to the API key where the agent runs.",
			"Add the function below to the agent, and give the session what it returns.",
			"Add the lines below to the agent's instructions.",
		},
		write: func(e endpoint) (any, string) {
			return nil, fmt.Sprintf(liveKitCode, e.mcp(), pythonList(e.names()), waitSeconds)
		},
	}
}

const pipecatCode = `import os

from mcp.client.session_group import StreamableHttpParameters
from pipecat.services.mcp_service import MCPClient


def frontdesk(caller: str, call: str) -> MCPClient:
    return MCPClient(
        server_params=StreamableHttpParameters(
            url=%q,
            headers={
                "X-Api-Key": os.environ["FRONTDESK_API_KEY"],
                "X-Caller-Number": caller or "unknown",
                "X-Request-Id": call,
                "X-Call-Id": call,
            },
        ),
        tools_filter=[
%s
        ],
    )


# Before the pipeline is made, with the caller's number and the call's id from the transport:
#
#     client = frontdesk(caller, call)
#     await client.start()
#     tools = await client.register_tools(llm)
#     context = LLMContext(tools=tools)
#
# And after it has ended:
#
#     await client.close()`

func pipecat() Platform {
	return Platform{
		ID: "pipecat", Name: "Pipecat", Language: "python", overMCP: true,
		where: []string{
			"Set FRONTDESK_API_KEY to the API key where the bot runs.",
			"Add the function below to the bot, and register its tools with the model.",
			"Add the lines below to the system prompt.",
		},
		write: func(e endpoint) (any, string) {
			return nil, fmt.Sprintf(pipecatCode, e.mcp(), pythonList(e.names()))
		},
	}
}

// pythonList writes the entries of a list, one a line.
func pythonList(names []string) string {
	lines := make([]string, 0, len(names))
	for _, name := range names {
		lines = append(lines, fmt.Sprintf("            %q,", name))
	}
	return strings.Join(lines, "\n")
}
