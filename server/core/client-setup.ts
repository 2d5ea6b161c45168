import type { Distribution } from './distributions.ts'

/**
 * What a person does once on a client, for one package manager. `files` are written as they are, `commands` typed in
 * order.
 */
export interface ClientSetup {
  readonly manager: string
  /** The one line that names the repository: a `deb` line, a `baseurl`, an address. */
  readonly line: string
  /** Everything as shell commands, in order. */
  readonly setup: readonly string[]
  readonly files: readonly { readonly path: string; readonly content: string }[]
  /** Brings the client's lists up to date: the proof that it works. */
  readonly refresh: string
}

/** What the lines depend on. */
export interface ClientFacts {
  /** Where clients reach this server, without a slash at the end. */
  readonly url: string
  /** Packages carry this server's own signature (`signing.rpm_packages`), so that clients can insist on it. */
  readonly signedPackages?: boolean
  /** File names of the public keys of the APK index. */
  readonly apkKeys?: readonly string[]
}

const KEYRING = '/etc/apt/keyrings/gatehouse.asc'

/** A file written by a shell, whatever is in it. */
const write = (path: string, content: string): string => `sudo tee ${path} > /dev/null <<'EOF'\n${content}EOF`

// Source of the addresses: the contract, "Addresses of the trees". Of the form: sources.list(5), "DEB822-STYLE FORMAT"
function apt({ codename, component, archs }: Distribution, { url }: ClientFacts): readonly ClientSetup[] {
  const path = '/etc/apt/sources.list.d/gatehouse.sources'
  const content = `Types: deb\nURIs: ${url}/repos\nSuites: ${codename}\nComponents: ${component}\nArchitectures: ${archs.join(' ')}\nSigned-By: ${KEYRING}\n`
  return [
    {
      manager: 'apt',
      line: `deb [signed-by=${KEYRING}] ${url}/repos ${codename} ${component}`,
      refresh: 'sudo apt-get update',
      files: [{ path, content }],
      setup: [
        'sudo install -d -m 0755 /etc/apt/keyrings',
        `curl -fsSL ${url}/repos/gpg.key | sudo tee ${KEYRING} > /dev/null`,
        write(path, content),
        'sudo apt-get update',
      ],
    },
  ]
}

// Source: dnf.conf(5), "REPO OPTIONS"; zypper(8), repository files. Whoever gets unsigned packages checks the index,
// which lists their digests
function rpm({ codename, label }: Distribution, { url, signedPackages = false }: ClientFacts): readonly ClientSetup[] {
  const line = `baseurl=${url}/repos/${codename}/$basearch/`
  const gpgcheck = signedPackages ? 1 : 0
  const why = signedPackages
    ? ''
    : '# the signed index vouches for each package by its digest; gpgcheck=1 as well once signing.rpm_packages is on\n'
  const head = `[gatehouse]\nname=Gatehouse, ${label}\n${line}\nenabled=1\n`
  const key = `gpgkey=${url}/repos/gpg.key\n`
  const importKey = `sudo rpm --import ${url}/repos/gpg.key`
  const dnf = {
    path: '/etc/yum.repos.d/gatehouse.repo',
    content: `${head}${why}gpgcheck=${gpgcheck}\nrepo_gpgcheck=1\n${key}`,
  }
  const zypp = {
    path: '/etc/zypp/repos.d/gatehouse.repo',
    content: `${head}autorefresh=1\ntype=rpm-md\ngpgcheck=1\nrepo_gpgcheck=1\npkg_gpgcheck=${gpgcheck}\n${key}`,
  }
  const made = (manager: string, file: typeof dnf, refresh: string): ClientSetup => ({
    manager,
    line,
    refresh,
    files: [file],
    setup: [importKey, write(file.path, file.content), refresh],
  })
  const clients = [made('dnf', dnf, 'sudo dnf makecache'), made('zypper', zypp, 'sudo zypper refresh gatehouse')]
  return codename.startsWith('opensuse') ? clients.reverse() : clients
}

// Source: apk-repositories(5), apk-keys(5)
function apk({ codename, component }: Distribution, { url, apkKeys = [] }: ClientFacts): readonly ClientSetup[] {
  const line = `${url}/apk/${codename}/${component}`
  return [
    {
      manager: 'apk',
      line,
      refresh: 'apk update',
      files: [{ path: '/etc/apk/repositories', content: `${line}\n` }],
      setup: [
        ...apkKeys.map(key => `wget -P /etc/apk/keys ${url}/apk/${key}`),
        `echo "${line}" >> /etc/apk/repositories`,
        'apk update',
      ],
    },
  ]
}

const INDEX_KEYS = { apt: 'openpgp', rpm: 'openpgp', apk: 'rsa' } as const

/** The kind of key by which clients of a distribution check its index: apk knows no OpenPGP. */
export function indexKeyOf({ family }: Distribution): 'openpgp' | 'rsa' {
  return INDEX_KEYS[family]
}

const CLIENTS = { apt, rpm, apk } as const

/** How the clients of a distribution are told of this repository; the usual one of that system first. */
export function clientSetups(distribution: Distribution, facts: ClientFacts): readonly [ClientSetup, ...ClientSetup[]] {
  return CLIENTS[distribution.family](distribution, facts) as [ClientSetup, ...ClientSetup[]]
}

/** The setup for the usual client of the distribution. */
export function clientSetup(distribution: Distribution, facts: ClientFacts): ClientSetup {
  return clientSetups(distribution, facts)[0]
}
