# Completion of frontdesk for fish.
function __frontdesk_complete
	set -l words (commandline -opc) (commandline -ct)
	$words[1] complete -- $words[2..-1] 2>/dev/null
end
complete -c frontdesk -a '(__frontdesk_complete)'
