import { writeFileLine, type OptionalSetup } from '../../core/client-setup.ts'
import type { ClientSide } from '../site.ts'
import { debugOf } from './facts.ts'

const KEYRING = '/etc/apt/keyrings/gatehouse.asc'
const FOLDER = '/etc/apt/sources.list.d'
const PATH = `${FOLDER}/gatehouse.sources`

const REFRESH = 'sudo apt-get update'

/** apt. Source of the form: sources.list(5), "DEB822-STYLE FORMAT". */
export const debClient: ClientSide = {
  indexKey: 'openpgp',
  setups({ codename, components, archs }, { url }) {
    // of several apt takes its own; naming the only one spares those with foreign architectures a notice
    const only = archs.length === 1 ? `Architectures: ${archs.join(' ')}\n` : ''
    const stanza = (type: 'deb' | 'deb-src', of: readonly string[]): string =>
      `Types: ${type}\nURIs: ${url}/repos\nSuites: ${codename}\nComponents: ${of.join(' ')}\n` +
      `${type === 'deb' ? only : ''}Signed-By: ${KEYRING}\n`
    const content = stanza('deb', components)
    // a stanza in a file of its own: added and removed without touching the others
    const optional = (kind: OptionalSetup['kind'], added: string): OptionalSetup => {
      const file = { path: `${FOLDER}/gatehouse-${kind}.sources`, content: added }
      return { kind, files: [file], setup: [writeFileLine(file.path, added), REFRESH] }
    }
    return [
      {
        manager: 'apt',
        line: `deb [signed-by=${KEYRING}] ${url}/repos ${codename} ${components.join(' ')}`,
        refresh: REFRESH,
        files: [{ path: PATH, content }],
        optional: [
          optional('source', stanza('deb-src', components)),
          optional('debug', stanza('deb', components.map(debugOf))),
        ],
        setup: [
          'sudo install -d -m 0755 /etc/apt/keyrings',
          `curl -fsSL ${url}/repos/gpg.key | sudo tee ${KEYRING} > /dev/null`,
          writeFileLine(PATH, content),
          REFRESH,
        ],
      },
    ]
  },
}
