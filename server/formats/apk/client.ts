import { dockerSetup, TOKEN_PLACE, TOKEN_USER, type ConfigFile } from '../../core/client-setup.ts'
import type { ClientSide } from '../site.ts'

const KEYS = '/etc/apk/keys'
const REPOSITORIES = '/etc/apk/repositories'

/** The digest of the key itself, without its PEM lines: busybox can do that. */
const fingerprintLine = (file: string): string =>
  `grep -v -- ----- ${file} | base64 -d | sha256sum | cut -c-64 | sed 's/..../& /g'`

/** apk. Source: apk-repositories(5), apk-keys(5). */
export const apkClient: ClientSide = {
  indexKey: 'rsa',
  setups({ codename, components }, { url, rsaKeys = [], privateTrees }) {
    const isPrivate = privateTrees?.has(codename) === true
    // apk knows no file for credentials: they stand in the address
    const site = isPrivate ? url.replace('://', `://${TOKEN_USER}:${TOKEN_PLACE}@`) : url
    const lines = components.map(component => `${site}/apk/${codename}/${component}`)
    const content = lines.map(line => `${line}\n`).join('')
    const file: ConfigFile = { path: REPOSITORIES, content, ...(isPrivate ? { secret: true } : {}) }
    const keys = rsaKeys.map(key => `ADD --chmod=644 ${url}/apk/${key} ${KEYS}/${key}`)
    const add = 'apk add --no-cache'
    return [
      {
        manager: 'apk',
        line: lines[0] ?? '',
        refresh: 'apk update',
        check: rsaKeys.map(key => fingerprintLine(`${KEYS}/${key}`)).join('\n'),
        docker: isPrivate
          ? dockerSetup(keys, `${add} $(sed 's/^/-X /' /run/secrets/gatehouse) PACKAGE`, { content })
          : dockerSetup([...keys, ...lines.map(line => `RUN echo "${line}" >> ${REPOSITORIES}`)], `${add} PACKAGE`),
        optional: [],
        files: [file],
        setup: [
          ...rsaKeys.map(key => `wget -P ${KEYS} ${url}/apk/${key}`),
          ...lines.map(line => `echo "${line}" >> ${REPOSITORIES}`),
          ...(isPrivate ? [`chmod 0600 ${REPOSITORIES}`] : []),
          'apk update',
        ],
      },
    ]
  },
}
