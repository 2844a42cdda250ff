// An OpenID Connect provider: node oidc.js PORT PUBLIC_URL PAGE_SECRET
// It issues tokens for the resources of memorybase at PUBLIC_URL, to clients that register themselves, and signs people
// in to the page. Every name is an account; "boss" is in the group of operators, "eve" in none.
import { generateKeyPairSync } from 'node:crypto';

import { errors, Provider } from 'oidc-provider';

const [port, publicUrl, pageSecret] = process.argv.slice(2);
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

const resources = {
  enabled: true,
  useGrantedResource: () => true,
  getResourceServerInfo(_context, resource) {
    if (!`${resource}/`.startsWith(`${publicUrl}/mcp/`)) throw new errors.InvalidTarget();
    const scope = 'memory:read memory:write';
    return { scope, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } };
  },
};

const groups = { boss: ['memory-operators'], edna: ['memory-editors'], eve: [] };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: 'memorybase-page',
    client_secret: pageSecret,
    redirect_uris: [`${publicUrl}/ui/sign-in/callback`],
  }],
  claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
  conformIdTokenClaims: false,
  cookies: { keys: ['test'] },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: resources,
  },
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: id, groups: groups[id] ?? ['memory-readers'] }),
  }),
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'signing', use: 'sig', alg: 'RS256' }] },
  pkce: { required: () => true },
  scopes: ['openid', 'offline_access', 'groups', 'memory:read', 'memory:write'],
  ttl: { AccessToken: 300, Grant: 3600, IdToken: 300, Interaction: 600, Session: 3600 },
});

provider.listen(Number(port), '127.0.0.1');
