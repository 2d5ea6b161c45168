import {
  copyFileLine,
  dockerSetup,
  TOKEN_PLACE,
  TOKEN_USER,
  writeFileLine,
  type ClientSetup,
  type ConfigFile,
  type DockerSetup,
} from '../../core/client-setup.ts'
import type { ClientSide } from '../site.ts'

const CREDENTIALS = `username=${TOKEN_USER}\npassword=${TOKEN_PLACE}\n`
/** zypper reads a token from a file of its own, which the address names; dnf from the repository's. */
const ZYPP_FILE: ConfigFile = { path: '/etc/zypp/credentials.d/gatehouse', content: CREDENTIALS, secret: true }

function dnfDocker(file: ConfigFile): DockerSetup {
  const run = 'dnf -y install PACKAGE && dnf clean all'
  return file.secret === true
    ? dockerSetup([], run, { content: file.content, target: file.path })
    : dockerSetup([copyFileLine(file)], run)
}

/** dnf and zypper. Source: dnf.conf(5), "REPO OPTIONS"; zypper(8), repository files. */
export const rpmClient: ClientSide = {
  indexKey: 'openpgp',
  setups({ codename, basedOn, label }, { url, signedPackages = false, privateTrees }) {
    const isPrivate = privateTrees?.has(codename) === true
    const line = `baseurl=${url}/repos/${codename}/$basearch/`
    const gpgcheck = signedPackages ? 1 : 0
    // clients of unsigned packages check the index, which lists their digests
    const why = signedPackages
      ? ''
      : '# the signed index vouches for each package by its digest; gpgcheck=1 as well once signing.rpm_packages is on\n'
    const key = `gpgkey=${url}/repos/gpg.key\n`
    const all = (rest: string, query = ''): string =>
      [
        ['gatehouse', label, line, 1],
        ['gatehouse-debuginfo', `${label}, debug`, `${line}debug/`, 0],
        ['gatehouse-source', `${label}, source`, `baseurl=${url}/repos/${codename}/src/`, 0],
      ]
        .map(
          ([id, name, from, on]) => `[${id}]\nname=Gatehouse, ${name}\n${from}${query}\nenabled=${on}\n${rest}${key}`,
        )
        .join('\n')
    const dnf: ConfigFile = {
      path: '/etc/yum.repos.d/gatehouse.repo',
      content: all(`${why}gpgcheck=${gpgcheck}\nrepo_gpgcheck=1\n${isPrivate ? CREDENTIALS : ''}`),
      ...(isPrivate ? { secret: true } : {}),
    }
    const zypp: ConfigFile = {
      path: '/etc/zypp/repos.d/gatehouse.repo',
      content: all(
        `autorefresh=1\ntype=rpm-md\ngpgcheck=1\nrepo_gpgcheck=1\npkg_gpgcheck=${gpgcheck}\n`,
        isPrivate ? '?credentials=gatehouse' : '',
      ),
    }
    const made = (
      manager: string,
      files: readonly ConfigFile[],
      rest: Pick<ClientSetup, 'refresh' | 'docker'>,
    ): ClientSetup => ({
      ...{ manager, line, files, optional: [], ...rest },
      check: `curl -fsSL ${url}/repos/gpg.key | gpg --show-keys --with-fingerprint`,
      setup: [`sudo rpm --import ${url}/repos/gpg.key`, ...files.map(writeFileLine), rest.refresh],
    })
    const withDnf = made('dnf', [dnf], { refresh: 'sudo dnf makecache', docker: dnfDocker(dnf) })
    const withZypper = made('zypper', isPrivate ? [zypp, ZYPP_FILE] : [zypp], {
      refresh: 'sudo zypper refresh gatehouse',
      docker: dockerSetup(
        [copyFileLine(zypp)],
        'zypper --non-interactive --gpg-auto-import-keys install PACKAGE && zypper clean',
        isPrivate ? { content: CREDENTIALS, target: ZYPP_FILE.path } : undefined,
      ),
    })
    return (basedOn ?? codename).startsWith('opensuse') ? [withZypper, withDnf] : [withDnf, withZypper]
  },
}
