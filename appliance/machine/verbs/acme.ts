import type { AskedWith, CertificateView } from '../../../server/machine/protocol.ts'
import { certificatesIn, checkPair, subjectOf } from '../pem.ts'
import { findText, Refused, writeText, type Ports } from '../ports.ts'
import { changeOrGoBack, machineNames, ORDER, TLS } from './certificates.ts'
import type { Say } from './table.ts'

// what the authority looks at, and how long it takes its time
const PATIENCE_MS = 300_000

function checkDirectory(directory: string): string {
  const url = URL.canParse(directory) ? new URL(directory) : undefined
  if (url?.protocol !== 'https:' || url.username !== '' || !/^[\w.:/[\]~%?=&-]+$/.test(url.href))
    throw new Refused('bad_directory', `${directory} is no address of an ACME directory. It begins with https://`)
  return url.href
}

function checkAuthority(pem: string): string {
  let found
  try {
    found = certificatesIn(pem)
  } catch {
    found = undefined
  }
  if (found === undefined || found.length === 0)
    throw new Refused('bad_authority', "The authority's certificate cannot be read. It has to be PEM.")
  const wrong = found.find(one => !one.ca)
  if (wrong !== undefined) throw new Refused('bad_authority', `${subjectOf(wrong)} is no authority.`)
  return found.map(one => one.toString()).join('')
}

/** Why it did not work, in the words that the authority had. */
async function whyNot(ports: Ports): Promise<string> {
  const said = (await findText(ports, `${ORDER}/failed`))?.trim() ?? ''
  return said === '' ? 'It did not say why; journalctl -u gatehouse-acme@order does.' : `${said.replace(/\.?$/, '.')}`
}

/**
 * Has a company's authority sign a certificate, over http-01: the authority asks this machine at port 80, under each
 * name. It is renewed by a timer (`gatehouse-acme.timer`).
 */
export async function orderCertificate(
  ports: Ports,
  { directory, names, authority, email }: AskedWith<'certificate.acme'>,
  say: Say = () => undefined,
): Promise<CertificateView> {
  const address = checkDirectory(directory)
  const above = authority === undefined || authority.trim() === '' ? undefined : checkAuthority(authority)
  if (email !== undefined && email !== '' && !/^[\w.%+-]{1,64}@[\w.-]{1,200}$/.test(email))
    throw new Refused('bad_email', `${email} is no address of mail.`)
  const machine = await machineNames(ports)
  const [short = ''] = machine
  if (!names.some(name => machine.includes(name) || name.startsWith(`${short}.`)))
    throw new Refused(
      'wrong_names',
      `None of ${names.join(', ')} is a name of this machine, which is ${machine.slice(0, 6).join(', ')}. Give it its name first (Network).`,
    )
  return changeOrGoBack(ports, async () => {
    await writeText(ports, `${ORDER}/directory`, `${address}\n`, 0o600)
    await writeText(ports, `${ORDER}/names`, `${names.join('\n')}\n`, 0o600)
    await writeText(ports, `${ORDER}/email`, `${email ?? ''}\n`, 0o600)
    await writeText(ports, `${ORDER}/authority.pem`, above ?? '', 0o600)
    say('The authority is asked, and looks at port 80 of this machine.')
    const { code } = await ports.run('systemctl', ['start', 'gatehouse-acme@order.service'], { timeoutMs: PATIENCE_MS })
    await ports.run('systemctl', ['reset-failed', 'gatehouse-acme@order.service'])
    if (code !== 0)
      throw new Refused(
        'acme_failed',
        `The authority gave no certificate: ${await whyNot(ports)} It has to reach this machine by port 80 under each name.`,
      )
    const [certificate = '', key = ''] = await Promise.all([
      findText(ports, `${TLS}/acme/server.crt`),
      findText(ports, `${TLS}/acme/server.key`),
    ])
    checkPair({ certificate, key }, { now: ports.now(), machine })
    say('The web server takes it.')
    await writeText(ports, `${TLS}/kind`, 'acme\n')
  })
}
