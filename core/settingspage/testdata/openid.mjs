// An OpenID provider with one client, whose people sign in with any password: the npm package oidc-provider, which is
// certified by the OpenID Foundation, with its settings as they come. So it wants PKCE, and tells a person's address
// and groups at its UserInfo endpoint only (OpenID Connect Core 1.0, section 5.4).
//
//   node openid.mjs FOLDER-OF-OIDC-PROVIDER CLIENT-ID CLIENT-SECRET REDIRECT-URI
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const [folder, client_id, client_secret, redirect_uri] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(`${folder}/lib/index.js`));

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id, client_secret, redirect_uris: [redirect_uri] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
    pkce: { required: () => true },
    cookies: { keys: ['of the test'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: id !== 'mallory', groups: id === 'vera' ? ['support'] : [] }),
    }),
  });
  server.on('request', provider.callback());
  console.log(issuer);
});
process.stdin.on('end', () => process.exit()).resume(); // with the test
