// Writes the records of the interface: "frontdesk openapi --format json | npm run generate".
import { text } from "node:stream/consumers";
import openapiTS, { astToString } from "openapi-typescript";

const description = JSON.parse(await text(process.stdin));
description.paths = {}; // client.ts has the operations
description.components = { schemas: description.components.schemas };
const options = { rootTypes: true, rootTypesNoSchemaPrefix: true, silent: true };
process.stdout.write("// Code generated from the OpenAPI description. DO NOT EDIT.\n");
process.stdout.write(astToString(await openapiTS(description, options)));
