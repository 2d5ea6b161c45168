import { must, type Ports } from '../ports.ts'
import { parseShown } from '../verbs/services.ts'
import { RELEASES } from './work.ts'

const UNIT = 'gatehouse.service'

const LOOK_MS = 2_000
/** So often in a row it has to be well. */
const WELL = 3
/** A release whose daemon ended so often by itself is none. */
const MOST_ENDS = 3
/** Looks at one that runs and does not get ready: five minutes. */
const MOST_UNREADY = 150
/** Looks at a start whose progress stands still: half an hour. */
const MOST_STILL = 900

interface Seen {
  readonly state: string
  readonly pid: string
  readonly ends: number
}

async function lookAtUnit(ports: Ports): Promise<Seen> {
  const out = await must(ports, 'systemctl', ['show', '-p', 'Id,ActiveState,MainPID,NRestarts', UNIT])
  const { ActiveState: state = '', MainPID: pid = '', NRestarts: ends } = parseShown(out).get(UNIT) ?? {}
  return { state, pid, ends: Number(ends) }
}

/** What a start says that it does; empty when it says nothing. */
function doingOf(body: string): string {
  try {
    const { starting } = JSON.parse(body) as { starting?: object }
    return starting === undefined ? '' : JSON.stringify(starting)
  } catch {
    return ''
  }
}

/** Whether the service can be used, asked itself. */
export const OWN_READY = 'http://127.0.0.1:8000/health/ready'
/** The same through nginx. */
const WEB_READY = 'https://127.0.0.1/health/ready'

export const fetchReady = async (
  ports: Ports,
  address: string,
): Promise<{ readonly ok: boolean; readonly body: string }> => {
  const { code, out } = await ports.run('curl', [
    ...['--silent', '--insecure', '--max-time', '10', '--write-out', '\n%{http_code}', address],
  ])
  const at = out.lastIndexOf('\n')
  return { ok: code === 0 && out.slice(at + 1) === '200', body: out.slice(0, Math.max(at, 0)) }
}

/**
 * Watches the daemon of a release until it is proved or has failed. Patience is counted in looks, and goes on for as
 * long as a start makes progress, so that a busy machine and a long migration are no failure.
 * @returns why it is no good; undefined when it is
 */
export async function proveRelease(
  ports: Ports,
  release: string,
  say: (line: string) => void,
): Promise<string | undefined> {
  const before = (await lookAtUnit(ports)).ends
  let [well, unready, still, doing] = [0, 0, 0, '']
  for (;;) {
    const { state, pid, ends } = await lookAtUnit(ports)
    if (ends - before >= MOST_ENDS) return `its daemon ended ${ends - before} times: journalctl -u gatehouse says why`
    const exe = await ports.run('readlink', ['-f', `/proc/${pid}/exe`])
    const isOurs = exe.out.includes(`${RELEASES}/${release}/`)
    const own = await fetchReady(ports, OWN_READY)
    const isWell = state === 'active' && isOurs && own.ok && (await fetchReady(ports, WEB_READY)).ok
    well = isWell ? well + 1 : 0
    if (well >= WELL) return undefined
    const now = doingOf(own.body)
    if (now !== doing && now !== '') say(`The new release starts: ${now}`)
    still = now === doing ? still + 1 : 0
    doing = now
    if (state === 'active' && !isWell) unready += 1
    if (unready > MOST_UNREADY) return 'its daemon runs, and does not get ready: /health/ready says why'
    if (still > MOST_STILL) return 'its start stands still: journalctl -u gatehouse says where'
    await ports.wait(LOOK_MS)
  }
}
