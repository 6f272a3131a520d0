// Runs the inspector's command line once for each line of standard input, a JSON list of arguments, and ends what it
// writes by a NUL. To start Node.js and to load the inspector takes most of a single run.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { runCli, handleError } = await import(pathToFileURL(process.argv[2]));
for await (const line of createInterface({ input: process.stdin })) {
	await runCli(["node", "inspector", ...JSON.parse(line)]).catch(handleError);
	process.stdout.write("\0");
}
