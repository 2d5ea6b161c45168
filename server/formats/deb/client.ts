import { writeFileLine } from '../../core/client-setup.ts'
import type { ClientSide } from '../site.ts'

const KEYRING = '/etc/apt/keyrings/gatehouse.asc'
const PATH = '/etc/apt/sources.list.d/gatehouse.sources'

/** apt. Source of the form: sources.list(5), "DEB822-STYLE FORMAT". */
export const debClient: ClientSide = {
  indexKey: 'openpgp',
  setups({ codename, components, archs }, { url }) {
    // of several apt takes its own; naming the only one spares those with foreign architectures a notice
    const only = archs.length === 1 ? `Architectures: ${archs.join(' ')}\n` : ''
    const content = `Types: deb\nURIs: ${url}/repos\nSuites: ${codename}\nComponents: ${components.join(' ')}\n${only}Signed-By: ${KEYRING}\n`
    return [
      {
        manager: 'apt',
        line: `deb [signed-by=${KEYRING}] ${url}/repos ${codename} ${components.join(' ')}`,
        refresh: 'sudo apt-get update',
        files: [{ path: PATH, content }],
        setup: [
          'sudo install -d -m 0755 /etc/apt/keyrings',
          `curl -fsSL ${url}/repos/gpg.key | sudo tee ${KEYRING} > /dev/null`,
          writeFileLine(PATH, content),
          'sudo apt-get update',
        ],
      },
    ]
  },
}
