package mcp

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"frontdesk/core/toolcall"
)

const clockName = "get_current_time"

// clockTool returns the tool that tells the time. With it, a model's prompt need not have the date, and so
// can be cached.
func clockTool() *mcp.Tool {
	return &mcp.Tool{
		Name: clockName, Title: "Get the current time",
		Description: "Tells today's date, its weekday and the time, in the time zone of the business. Ask this " +
			"before you speak of today, tomorrow or next week.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Annotations: &mcp.ToolAnnotations{
			Title: "Get the current time", ReadOnlyHint: true, DestructiveHint: new(false), OpenWorldHint: new(false),
		},
	}
}

// tellTime returns the time in the zone of the business.
func (s *Server) tellTime(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	now := s.opts.Now().In(s.opts.Zone(ctx, callerOf(ctx)))
	return text(toolcall.Clock(headerOf(req), now)), nil
}
