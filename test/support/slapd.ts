import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { createTls, type TestTls } from './tls.ts'
import { mustRun } from './tools.ts'

export const BASE = 'dc=example,dc=test'
const PEOPLE = `ou=people,${BASE}`

/** A real OpenLDAP on 127.0.0.1 with alice, bob, carol and some names that are a nuisance. Passwords are `<name>pw`. */
export interface TestSlapd {
  readonly port: number
  readonly tlsPort: number
  readonly tls: TestTls
  /** Adds entries or changes them, as LDIF. */
  modify(ldif: string): Promise<void>
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

function answers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (let n = 0; n < 400; n++) {
    if (await condition()) return
    await new Promise(resolve => {
      setTimeout(resolve, 25)
    })
  }
  throw new Error(`waited for ${what} in vain`)
}

const configuration = (folder: string, tls: TestTls): string => `
${['core', 'cosine', 'inetorgperson', 'nis'].map(name => `include /etc/ldap/schema/${name}.schema`).join('\n')}
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
pidfile ${folder}/slapd.pid
TLSCACertificateFile ${tls.caPath}
TLSCertificateFile ${tls.certPath}
TLSCertificateKeyFile ${tls.keyPath}
database mdb
suffix "${BASE}"
rootdn "cn=admin,${BASE}"
rootpw adminpw
directory ${folder}/db
overlay memberof
access to attrs=userPassword by anonymous auth by * none
access to * by users read by * none
`

const person = (uid: string, more = ''): string => `dn: uid=${uid},${PEOPLE}
objectClass: inetOrgPerson
uid: ${uid}
cn: ${uid} Test
sn: Test
mail: ${uid}@example.test
userPassword: ${uid}pw
${more}
`
const group = (cn: string, ...uids: readonly string[]): string => `dn: cn=${cn},ou=groups,${BASE}
objectClass: groupOfNames
cn: ${cn}
${uids.map(uid => `member: uid=${uid},${PEOPLE}`).join('\n')}

`
const SEED = `dn: ${BASE}
objectClass: dcObject
objectClass: organization
o: E
dc: example

${['people', 'groups', 'lists'].map(ou => `dn: ou=${ou},${BASE}\nobjectClass: organizationalUnit\nou: ${ou}\n`).join('\n')}
dn: cn=svc,${BASE}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: svc
userPassword: svcpw

${['alice', 'bob', 'carol', 'dave'].map(uid => person(uid)).join('\n')}
dn: cn=Twin A,${PEOPLE}
objectClass: inetOrgPerson
uid: twin
cn: Twin A
sn: A
userPassword: twinpw

dn: cn=Twin B,${PEOPLE}
objectClass: inetOrgPerson
uid: twin
cn: Twin B
sn: B
userPassword: twinpw

dn: cn=Strange\\, Name (odd)*,${PEOPLE}
objectClass: inetOrgPerson
uid: a name no account can have
cn: Strange, Name (odd)*
sn: N
mail: not an address
userPassword: strangepw

dn: cn=spaces,${PEOPLE}
objectClass: inetOrgPerson
uid: has spaces
cn: spaces
sn: S
userPassword: spacespw

${group('repo-admins', 'alice')}${group('repo-uploaders', 'alice', 'bob')}${group('Repo, Auditors', 'carol').replace('dn: cn=Repo, Auditors', 'dn: cn=Repo\\, Auditors')}dn: cn=unix-maintainers,ou=lists,${BASE}
objectClass: posixGroup
cn: unix-maintainers
gidNumber: 4000
memberUid: dave
`

export async function startSlapd(): Promise<TestSlapd> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-slapd-'))
  const tls = await createTls()
  await mkdir(join(folder, 'db'))
  await writeFile(join(folder, 'slapd.conf'), configuration(folder, tls))
  const [port, tlsPort] = [await freePort(), await freePort()]
  const start = async (): Promise<void> => {
    await mustRun(
      'slapd',
      ['-f', join(folder, 'slapd.conf'), '-h', `ldap://127.0.0.1:${port} ldaps://127.0.0.1:${tlsPort}`],
      { env: { PATH: `${process.env.PATH ?? ''}:/usr/sbin` } },
    )
    await until(() => answers(port), 'slapd')
  }
  const stop = async (): Promise<void> => {
    const pid = Number(await readFile(join(folder, 'slapd.pid'), 'utf8').catch(() => '0'))
    if (pid > 0) process.kill(pid)
    await until(async () => !(await answers(port)), 'the end of slapd')
  }
  const modify = async (ldif: string): Promise<void> => {
    const file = join(folder, 'change.ldif')
    await writeFile(file, ldif)
    await mustRun('ldapmodify', [
      '-a',
      '-x',
      '-H',
      `ldap://127.0.0.1:${port}`,
      '-D',
      `cn=admin,${BASE}`,
      '-w',
      'adminpw',
      '-f',
      file,
    ])
  }
  await start()
  await modify(SEED) // over the wire: slapadd would leave memberOf empty
  return {
    port,
    tlsPort,
    tls,
    modify,
    start,
    stop,
    close: async () => {
      await stop().catch(() => undefined) // it may have been stopped by the test
      await tls.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
