import { TOKEN_PLACE } from '../../core/client-setup.ts'
import type { RegistryClient, RegistryFacts, RegistrySetup } from '../registry-client.ts'

/** `//host/npm/ours/`: how `.npmrc` names the registry that a token is for. */
const tokenKey = (address: string): string => `${address.replace(/^https?:/, '')}/`

const SCOPED =
  'Write @scope:registry= in place of registry= where only the packages of a scope come from here; others then come from elsewhere.'
const PUBLISHES =
  'Publishing needs a token with the scope to upload. An admin or a maintainer makes one under Users, API tokens.'
const howToPublish = ({ publishes }: RegistryFacts): readonly string[] => (publishes ? [PUBLISHES] : [])
const LOGIN = 'npm login is not answered here: make an API token in the console and write it into the file.'

function npmrc({ address, needsToken }: RegistryFacts, more = ''): RegistrySetup['files'] {
  const lines = [`registry=${address}/`, `${tokenKey(address)}:_authToken=${TOKEN_PLACE}`]
  const content = `${lines.join('\n')}\n${needsToken ? more : ''}`
  return [{ path: '~/.npmrc', content, secret: true }]
}

const npmLike = (client: 'npm' | 'pnpm', facts: RegistryFacts): RegistrySetup => ({
  client,
  files: npmrc(facts),
  setup: [
    `${client} config set registry ${facts.address}/`,
    `${client} config set ${tokenKey(facts.address)}:_authToken ${TOKEN_PLACE}`,
  ],
  install: `${client} ${client === 'npm' ? 'install' : 'add'} PACKAGE`,
  publish: `${client} publish`,
  notes: [SCOPED, ...howToPublish(facts), LOGIN],
})

/** yarn 1 sends no credential for names without a scope unless it is told to. */
const yarn1 = (facts: RegistryFacts): RegistrySetup => ({
  client: 'yarn 1',
  files: npmrc(facts, 'always-auth=true\n'),
  setup: [], // those of yarn 1 set no token
  install: 'yarn add PACKAGE',
  publish: 'yarn publish',
  notes: [
    SCOPED,
    ...howToPublish(facts),
    ...(facts.needsToken
      ? ['Without always-auth=true, yarn 1 sends the token for names with a scope only, and is refused for others.']
      : []),
  ],
})

function yarn4(facts: RegistryFacts): RegistrySetup {
  const { address, needsToken } = facts
  const isPlain = address.startsWith('http:')
  const host = new URL(address).hostname
  const lines = [
    `npmRegistryServer: "${address}"`,
    `npmAuthToken: "${TOKEN_PLACE}"`,
    ...(needsToken ? ['npmAlwaysAuth: true'] : []),
    'npmMinimalAgeGate: 0',
    ...(isPlain ? ['unsafeHttpWhitelist:', `  - "${host}"`] : []),
  ]
  return {
    client: 'yarn 4',
    files: [{ path: '.yarnrc.yml', content: `${lines.join('\n')}\n`, secret: true }],
    setup: [
      `yarn config set npmRegistryServer ${address}`,
      `yarn config set npmAuthToken ${TOKEN_PLACE}`,
      ...(needsToken ? ['yarn config set npmAlwaysAuth true'] : []),
      'yarn config set npmMinimalAgeGate 0',
      ...(isPlain ? [`yarn config set unsafeHttpWhitelist --json '["${host}"]'`] : []),
    ],
    install: 'yarn add PACKAGE',
    publish: 'yarn npm publish',
    notes: [
      'Yarn hides versions that are younger than its own limit, those you have just published included: npmMinimalAgeGate: 0 leaves that to this registry. To keep it for others, name your packages in npmPreapprovedPackages.',
      ...howToPublish(facts),
    ],
  }
}

function bun(facts: RegistryFacts): RegistrySetup {
  const { address } = facts
  const content = `[install]\nregistry = { url = "${address}/", token = "${TOKEN_PLACE}" }\n`
  return {
    client: 'bun',
    files: [{ path: 'bunfig.toml', content, secret: true }],
    setup: [],
    install: 'bun add PACKAGE',
    publish: 'bun publish',
    notes: howToPublish(facts),
  }
}

/** The token stands in a variable of the build, so that the file can be kept with the code. */
const ci = ({ address }: RegistryFacts): RegistrySetup => ({
  client: 'CI',
  files: [{ path: '.npmrc', content: `registry=${address}/\n${tokenKey(address)}:_authToken=\${NPM_TOKEN}\n` }],
  setup: [],
  install: 'npm ci',
  publish: 'npm publish',
  notes: [
    'Set NPM_TOKEN as a secret of the build. A token that only reads is enough to install; npm ci takes exactly what the lock file names.',
    'A lock file keeps the addresses it was made with: make it against this registry.',
  ],
})

/**
 * npm, pnpm, yarn, bun and builds. Source: docs.npmjs.com, npmrc; pnpm.io, settings; classic.yarnpkg.com, config;
 * yarnpkg.com, configuration/yarnrc; bun.com, docs, bunfig
 */
export const npmClient: RegistryClient = {
  root: 'npm',
  setups: (_registry, facts) => [
    npmLike('npm', facts),
    npmLike('pnpm', facts),
    yarn1(facts),
    yarn4(facts),
    bun(facts),
    ci(facts),
  ],
}
