import { writeFileLine, type ClientSetup } from '../../core/client-setup.ts'
import type { ClientSide } from '../site.ts'

/** dnf and zypper. Source: dnf.conf(5), "REPO OPTIONS"; zypper(8), repository files. */
export const rpmClient: ClientSide = {
  indexKey: 'openpgp',
  setups({ codename, basedOn, label }, { url, signedPackages = false }) {
    const line = `baseurl=${url}/repos/${codename}/$basearch/`
    const gpgcheck = signedPackages ? 1 : 0
    // clients of unsigned packages check the index, which lists their digests
    const why = signedPackages
      ? ''
      : '# the signed index vouches for each package by its digest; gpgcheck=1 as well once signing.rpm_packages is on\n'
    const key = `gpgkey=${url}/repos/gpg.key\n`
    const all = (rest: string): string =>
      [
        ['gatehouse', label, line, 1],
        ['gatehouse-debuginfo', `${label}, debug`, `${line}debug/`, 0],
        ['gatehouse-source', `${label}, source`, `baseurl=${url}/repos/${codename}/src/`, 0],
      ]
        .map(([id, name, from, on]) => `[${id}]\nname=Gatehouse, ${name}\n${from}\nenabled=${on}\n${rest}${key}`)
        .join('\n')
    const dnf = {
      path: '/etc/yum.repos.d/gatehouse.repo',
      content: all(`${why}gpgcheck=${gpgcheck}\nrepo_gpgcheck=1\n`),
    }
    const zypp = {
      path: '/etc/zypp/repos.d/gatehouse.repo',
      content: all(`autorefresh=1\ntype=rpm-md\ngpgcheck=1\nrepo_gpgcheck=1\npkg_gpgcheck=${gpgcheck}\n`),
    }
    const made = (manager: string, file: typeof dnf, refresh: string): ClientSetup => ({
      manager,
      line,
      refresh,
      files: [file],
      optional: [],
      setup: [`sudo rpm --import ${url}/repos/gpg.key`, writeFileLine(file.path, file.content), refresh],
    })
    const withDnf = made('dnf', dnf, 'sudo dnf makecache')
    const withZypper = made('zypper', zypp, 'sudo zypper refresh gatehouse')
    return (basedOn ?? codename).startsWith('opensuse') ? [withZypper, withDnf] : [withDnf, withZypper]
  },
}
