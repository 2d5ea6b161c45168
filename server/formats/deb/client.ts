import {
  copyFileLine,
  dockerSetup,
  TOKEN_PLACE,
  TOKEN_USER,
  writeFileLine,
  type ConfigFile,
  type OptionalSetup,
} from '../../core/client-setup.ts'
import type { ClientSide } from '../site.ts'
import { debugOf } from './facts.ts'

const KEYRING = '/etc/apt/keyrings/gatehouse.asc'
const FOLDER = '/etc/apt/sources.list.d'
const PATH = `${FOLDER}/gatehouse.sources`

// apt sends it only to this address and what lies below
const AUTH = '/etc/apt/auth.conf.d/gatehouse.conf'
const REFRESH = 'sudo apt-get update'

/** apt. Source of the form: sources.list(5), "DEB822-STYLE FORMAT". */
export const debClient: ClientSide = {
  indexKey: 'openpgp',
  setups({ codename, components, archs }, { url, privateTrees }) {
    // of several apt takes its own; naming the only one spares those with foreign architectures a notice
    const only = archs.length === 1 ? `Architectures: ${archs.join(' ')}\n` : ''
    const stanza = (type: 'deb' | 'deb-src', of: readonly string[]): string =>
      `Types: ${type}\nURIs: ${url}/repos\nSuites: ${codename}\nComponents: ${of.join(' ')}\n` +
      `${type === 'deb' ? only : ''}Signed-By: ${KEYRING}\n`
    const source: ConfigFile = { path: PATH, content: stanza('deb', components) }
    const auth: ConfigFile | undefined =
      privateTrees?.has(codename) === true
        ? { path: AUTH, content: `machine ${url}/repos login ${TOKEN_USER} password ${TOKEN_PLACE}\n`, secret: true }
        : undefined
    const files = auth === undefined ? [source] : [source, auth]
    // a stanza in a file of its own: added and removed without touching the others
    const optional = (kind: OptionalSetup['kind'], added: string): OptionalSetup => {
      const file = { path: `${FOLDER}/gatehouse-${kind}.sources`, content: added }
      return { kind, files: [file], setup: [writeFileLine(file), REFRESH] }
    }
    return [
      {
        manager: 'apt',
        line: `deb [signed-by=${KEYRING}] ${url}/repos ${codename} ${components.join(' ')}`,
        refresh: REFRESH,
        check: `gpg --show-keys --with-fingerprint ${KEYRING}`,
        docker: dockerSetup(
          [`ADD --chmod=644 ${url}/repos/gpg.key ${KEYRING}`, copyFileLine(source)],
          'apt-get update && apt-get install -y --no-install-recommends PACKAGE && rm -rf /var/lib/apt/lists/*',
          auth === undefined ? undefined : { content: auth.content, target: AUTH },
        ),
        files,
        optional: [
          optional('source', stanza('deb-src', components)),
          optional('debug', stanza('deb', components.map(debugOf))),
        ],
        setup: [
          'sudo install -d -m 0755 /etc/apt/keyrings',
          `curl -fsSL ${url}/repos/gpg.key | sudo tee ${KEYRING} > /dev/null`,
          ...files.map(writeFileLine),
          REFRESH,
        ],
      },
    ]
  },
}
