import type { ClientSide } from '../site.ts'

/** apk. Source: apk-repositories(5), apk-keys(5). */
export const apkClient: ClientSide = {
  indexKey: 'rsa',
  setups({ codename, components }, { url, rsaKeys = [] }) {
    const lines = components.map(component => `${url}/apk/${codename}/${component}`)
    return [
      {
        manager: 'apk',
        line: lines[0] ?? '',
        refresh: 'apk update',
        optional: [],
        files: [{ path: '/etc/apk/repositories', content: lines.map(line => `${line}\n`).join('') }],
        setup: [
          ...rsaKeys.map(key => `wget -P /etc/apk/keys ${url}/apk/${key}`),
          ...lines.map(line => `echo "${line}" >> /etc/apk/repositories`),
          'apk update',
        ],
      },
    ]
  },
}
