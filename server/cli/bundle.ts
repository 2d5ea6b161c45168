import { createWriteStream } from 'node:fs'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const USAGE = `GATEHOUSE_URL=… GATEHOUSE_TOKEN=… npm run bundle -- COMMAND

On the connected side:
  make --site NAME [--since-bundle | --since-receipt FILE | --all] [--distribution CODENAME]… [--registry NAME]…
       [--package NAME]… [--group NAME]… [--no-vulnerability] [--no-antivirus] [--out FILE]
  receipt FILE                  reads the receipt of a site
  sites                         lists sites, and what is new for each
  add-site NAME [--label TEXT]
  pin-site NAME --fingerprint F [--key FILE]      the key that signs its receipts; admins
On the side without a network:
  inspect FILE                  says what is in a bundle, who signed it, and whether it follows the last one
  import FILE [--allow-older] [--receipt FILE]    takes it in, and writes a receipt
  make-receipt --sender NAME [--out FILE]
  senders
  pin NAME --fingerprint F [--key FILE] [--site NAME]      the key that signs bundles; admins

make leaves out what the last receipt of the site says is there; --since-bundle also what later bundles brought, if they
arrive; --all nothing. FILE of import and inspect is sent in pieces: run the command again after it was cut off.
`

/** Ends the run with this message. */
class Stop extends Error {}

const PIECE = 32 * 2 ** 20
const MOST_TRIES = 10

// eslint-disable-next-line no-restricted-properties -- a client of the service, which reads no environment of its own
const { GATEHOUSE_TOKEN: token = '', GATEHOUSE_URL: from = '' } = process.env

const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** The sentence in the answer of an error. */
function problemIn(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: unknown }
    if (typeof detail === 'string') return detail
    const [first = detail] = Array.isArray(detail) ? (detail as unknown[]) : []
    const { msg, message } = (first ?? {}) as { readonly msg?: unknown; readonly message?: unknown }
    return String(msg ?? message ?? text.slice(0, 300))
  } catch {
    return text.slice(0, 300)
  }
}

interface Ask {
  readonly body?: unknown
  readonly bytes?: Buffer
}

/** Asks the service; tries again where it asks for time, or a piece was cut off. @throws Stop */
async function ask(method: string, path: string, { body, bytes }: Ask = {}): Promise<Response> {
  const address = new URL(`api/v1${path}`, from.endsWith('/') ? from : `${from}/`)
  for (let tries = 1; ; tries++) {
    const answer = await fetch(address, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(bytes === undefined ? {} : { 'Content-Type': 'application/octet-stream' }),
      },
      ...(bytes !== undefined
        ? { body: new Uint8Array(bytes) }
        : body !== undefined
          ? { body: JSON.stringify(body) }
          : {}),
    }).catch((error: unknown) => {
      const { cause } = error as { readonly cause?: { readonly code?: string } }
      throw new Stop(`${address.origin} does not answer${cause?.code === undefined ? '' : ` (${cause.code})`}.`)
    })
    if (answer.ok) return answer
    const text = await answer.text()
    if (![429, 503].includes(answer.status) || tries >= MOST_TRIES) throw new Stop(problemIn(text))
    const seconds = Math.max(1, Number(answer.headers.get('retry-after') ?? 5) || 5)
    await sleep(seconds * 1000)
  }
}

const json = async <T>(method: string, path: string, given?: Ask): Promise<T> =>
  (await (await ask(method, path, given)).json()) as T

interface Job {
  readonly status: string
  readonly result: unknown
  readonly error: { readonly message: string } | null
}

/** The events of a stream: their names and data. */
async function* eventsIn(answer: Response): AsyncGenerator<{ event: string; data: string; id: string }> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of answer.body ?? []) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true })
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const lines = rest.slice(0, end).split('\n')
      rest = rest.slice(end + 2)
      const field = (name: string): string =>
        lines
          .find(line => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .trim() ?? ''
      yield { event: field('event'), data: field('data'), id: field('id') }
    }
  }
}

/** Prints the log of a job until it has ended. @returns its result @throws Stop with its error */
async function follow<T>(job: string): Promise<T> {
  let last = ''
  for (;;) {
    const path = `/jobs/${job}/events${last === '' ? '' : `?last_event_id=${last}`}`
    try {
      for await (const { event, data, id } of eventsIn(await ask('GET', path))) {
        if (id !== '') last = id
        if (event === 'log') {
          const { level, message } = JSON.parse(data) as { readonly level: string; readonly message: string }
          process.stderr.write(`${level === 'info' ? '' : `${level}: `}${message}\n`)
        }
        if (event !== 'end') continue
        const { status, result, error } = JSON.parse(data) as Job
        if (status === 'done') return result as T
        throw new Stop(error?.message ?? 'The job was cancelled.')
      }
    } catch (error) {
      if (error instanceof Stop) throw error
      process.stderr.write('The connection was lost; the job goes on.\n')
    }
    await sleep(1_000)
  }
}

/** Writes an answer to a file, which has its name once it is whole. */
async function save(answer: Response, out: string | undefined): Promise<string> {
  const named = /filename="?([^";]+)/.exec(answer.headers.get('content-disposition') ?? '')?.[1]
  const to = resolve(out ?? basename(named ?? 'download'))
  const part = `${to}.part`
  try {
    if (answer.body === null) throw new Stop('The answer is empty.')
    await pipeline(Readable.fromWeb(answer.body as never), createWriteStream(part))
    await rename(part, to)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
  return to
}

/** Sends a file in pieces, from where an earlier run came to. @returns the id of the upload */
async function send(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isFile() !== true) throw new Stop(`${path} is no file.`)
  const { size } = found
  const body = { file_name: basename(path), size }
  let upload = await json<{ id: string; received: number }>('POST', '/bundles/uploads', { body })
  const handle = await open(path)
  try {
    while (upload.received < size) {
      const buffer = Buffer.allocUnsafe(Math.min(PIECE, size - upload.received))
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, upload.received)
      if (bytesRead === 0) throw new Stop(`${path} became shorter while it was read.`)
      const bytes = buffer.subarray(0, bytesRead)
      upload = await json('PUT', `/bundles/uploads/${upload.id}?offset=${upload.received}`, { bytes })
    }
  } finally {
    await handle.close()
  }
  return upload.id
}

interface Values {
  readonly 'site'?: string
  readonly 'label'?: string
  readonly 'out'?: string
  readonly 'receipt'?: string
  readonly 'sender'?: string
  readonly 'fingerprint'?: string
  readonly 'key'?: string
  readonly 'since-receipt'?: string
  readonly 'since-bundle'?: boolean
  readonly 'all'?: boolean
  readonly 'allow-older'?: boolean
  readonly 'no-vulnerability'?: boolean
  readonly 'no-antivirus'?: boolean
  readonly 'distribution'?: readonly string[]
  readonly 'registry'?: readonly string[]
  readonly 'package'?: readonly string[]
  readonly 'group'?: readonly string[]
}

const need = (text: string | undefined, what: string): string => {
  if (text === undefined || text === '') throw new Stop(`Give ${what}.\n${USAGE}`)
  return text
}

async function readReceipt(path: string): Promise<void> {
  const bytes = await readFile(path)
  say((await json<{ message: string }>('POST', '/bundles/receipts', { bytes })).message)
}

async function make(values: Values): Promise<void> {
  const ways = [values['since-receipt'], values['since-bundle'], values.all].filter(one => one !== undefined)
  if (ways.length > 1) throw new Stop(`Say one of --since-receipt, --since-bundle and --all.\n${USAGE}`)
  if (values['since-receipt'] !== undefined) await readReceipt(values['since-receipt'])
  const body = {
    site: need(values.site, '--site'),
    base: values.all === true ? 'all' : values['since-bundle'] === true ? 'bundle' : 'receipt',
    vulnerability: values['no-vulnerability'] !== true,
    antivirus: values['no-antivirus'] !== true,
    ...(values.distribution === undefined ? {} : { distributions: values.distribution }),
    ...(values.registry === undefined ? {} : { registries: values.registry }),
    ...(values.package === undefined ? {} : { packages: values.package }),
    ...(values.group === undefined ? {} : { groups: values.group }),
  }
  const { job_id: job } = await json<{ job_id: string }>('POST', '/bundles', { body })
  const made = await follow<{ id: number; name: string; packages: number }>(job)
  const to = await save(await ask('GET', `/bundles/${made.id}/download`), values.out)
  say(`${to}: ${made.packages} packages for ${body.site}.`)
}

interface SenderView {
  readonly id: number
  readonly name: string
  readonly fingerprints: readonly string[]
  readonly last_number: number
  readonly missing: readonly number[]
}
const sendersNow = async (): Promise<readonly SenderView[]> =>
  (await json<{ senders: readonly SenderView[] }>('GET', '/bundles/senders')).senders

async function makeReceipt(name: string, out: string | undefined): Promise<void> {
  const sender = (await sendersNow()).find(one => one.name === name)
  if (sender === undefined) throw new Stop(`There is no sender ${name}.`)
  say(`receipt: ${await save(await ask('GET', `/bundles/senders/${sender.id}/receipt`), out)}`)
}

interface Taken {
  readonly name: string
  readonly sender: string
  readonly published: number
  readonly already: number
  readonly held: number
  readonly refused: number
  readonly upstream_changed: number
  readonly waits: number
}

async function importFile(path: string, values: Values): Promise<void> {
  const upload = await send(path)
  const body = { upload, ...(values['allow-older'] === true ? { allow_older: true } : {}) }
  const asked = await json<{ job_id: string; message: string }>('POST', '/bundles/import', { body })
  say(asked.message)
  const {
    name,
    sender,
    published,
    already,
    held,
    refused,
    upstream_changed: changed,
    waits,
  } = await follow<Taken>(asked.job_id)
  say(
    `${name} from ${sender}: ${published} published, ${already} here already, ${held} held, ${refused} refused, ${changed} with other bytes than here, ${waits} left out.`,
  )
  await makeReceipt(sender, values.receipt)
}

async function keyOf({ fingerprint, key }: Values) {
  return {
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(key === undefined ? {} : { public_key: await readFile(key, 'utf8') }),
  }
}

interface SiteView {
  readonly name: string
  readonly last_number: number
  readonly receipt_at: string | null
  readonly new_packages: number
}

async function run(command: string | undefined, name: string | undefined, values: Values): Promise<void> {
  switch (command) {
    case 'make':
      return make(values)
    case 'receipt':
      return readReceipt(need(name, 'the file'))
    case 'import':
      return importFile(need(name, 'the file'), values)
    case 'make-receipt':
      return makeReceipt(need(values.sender, '--sender'), values.out)
    case 'inspect': {
      const upload = await send(need(name, 'the file'))
      return say(JSON.stringify(await json('POST', '/bundles/inspect', { body: { upload } }), null, 2))
    }
    case 'sites': {
      const { sites } = await json<{ sites: readonly SiteView[] }>('GET', '/bundles/sites')
      for (const one of sites)
        say(
          `${one.name}: ${one.last_number} bundles, last receipt ${one.receipt_at?.slice(0, 10) ?? 'never'}, ${one.new_packages} packages new for it`,
        )
      return
    }
    case 'add-site': {
      const body = { name: need(name, 'a name'), ...(values.label === undefined ? {} : { label: values.label }) }
      return void (await json('POST', '/bundles/sites', { body }))
    }
    case 'pin-site':
      return void (await json('PUT', `/bundles/sites/${encodeURIComponent(need(name, 'a name'))}/key`, {
        body: await keyOf(values),
      }))
    case 'senders':
      for (const one of await sendersNow())
        say(
          `${one.name}: ${one.fingerprints.join(', ')}, last ${one.last_number}${one.missing.length === 0 ? '' : `, not come: ${one.missing.join(', ')}`}`,
        )
      return
    case 'pin': {
      const site = values.site === undefined ? {} : { site: values.site }
      const body = { name: need(name, 'a name'), ...site, ...(await keyOf(values)) }
      return void (await json('POST', '/bundles/senders', { body }))
    }
    default:
      throw new Stop(USAGE)
  }
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const several = { type: 'string', multiple: true } as const
  let given
  try {
    given = parseArgs({
      allowPositionals: true,
      options: {
        'site': text,
        'label': text,
        'out': text,
        'receipt': text,
        'sender': text,
        'fingerprint': text,
        'key': text,
        'since-receipt': text,
        'since-bundle': flag,
        'all': flag,
        'allow-older': flag,
        'no-vulnerability': flag,
        'no-antivirus': flag,
        'distribution': several,
        'registry': several,
        'package': several,
        'group': several,
        'help': flag,
      },
    })
  } catch (error) {
    throw new Stop(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`)
  }
  const [command, name] = given.positionals
  if (given.values.help === true || command === undefined) return say(USAGE)
  if (!URL.canParse(from)) throw new Stop('Put the address of Gatehouse into GATEHOUSE_URL.')
  if (token === '') throw new Stop('Put an API token into GATEHOUSE_TOKEN.')
  await run(command, name, given.values)
}

process.exitCode = await main().then(
  () => 0,
  (error: unknown) => {
    if (!(error instanceof Stop)) throw error
    process.stderr.write(`${error.message.trimEnd()}\n`)
    return 1
  },
)
