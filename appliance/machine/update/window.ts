import { Value } from '@sinclair/typebox/value'
import { Window, type Answered, type AskedWith } from '../../../server/machine/protocol.ts'
import { findText, must, removeFile, Refused, writeText, type Ports } from '../ports.ts'
import { readRestart, updateDebian } from './debian.ts'
import { begin, FOLDER, isAtWork, readWork, writeWork } from './work.ts'

const FILE = `${FOLDER}/window.json`
/** Installs Debian's security updates once a day, whatever the window says. */
const DEBIANS_OWN = 'apt-daily-upgrade.timer'
const LOOKED = `${FOLDER}/window-used`

export async function readWindow(ports: Ports): Promise<Window | null> {
  const text = await findText(ports, FILE)
  if (text === undefined) return null
  const read: unknown = JSON.parse(text)
  return Value.Check(Window, read) ? read : null
}

export async function setWindow(ports: Ports, { window }: AskedWith<'window.set'>): Promise<Answered<'window.set'>> {
  if (window === null) {
    await must(ports, 'systemctl', ['enable', '--now', DEBIANS_OWN])
    await removeFile(ports, FILE)
    return {
      said: 'There is no window: no release is installed and nothing restarts by itself. Security updates of Debian come daily, as it does that.',
    }
  }
  if (window.days.length === 0) throw new Refused('no_day', 'A window needs a day. To have none, take the window away.')
  if (window.from === window.to)
    throw new Refused('no_time', 'The window begins and ends at the same minute. Make it an hour or more.')
  await must(ports, 'systemctl', ['disable', '--now', DEBIANS_OWN])
  await writeText(ports, FILE, `${JSON.stringify(window)}\n`)
  return { said: `The window is from ${window.from} to ${window.to}, in the zone of this machine.` }
}

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))

/** The day on which the window began that holds this moment, as `2026-11-28`; undefined outside. Times are local. */
export function windowAt({ days, from, to }: Window, at: Date): string | undefined {
  const now = at.getHours() * 60 + at.getMinutes()
  const [begins, ends] = [minutesOf(from), minutesOf(to)]
  const isOverNight = ends < begins
  const isIn = isOverNight ? now >= begins || now < ends : now >= begins && now < ends
  if (!isIn) return undefined
  const began = new Date(at)
  if (isOverNight && now < ends) began.setDate(began.getDate() - 1)
  if (!days.includes(began.getDay())) return undefined
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${began.getFullYear()}-${two(began.getMonth() + 1)}-${two(began.getDate())}`
}

/** What the timer does every ten minutes: in the window, the update that waits, then Debian's, then a restart. */
export async function useWindow(ports: Ports): Promise<void> {
  const window = await readWindow(ports)
  const day = window === null ? undefined : windowAt(window, ports.now())
  if (window === null || day === undefined) return
  const work = await readWork(ports)
  if (work !== undefined && isAtWork(work)) return
  if (work?.step === 'waiting') {
    await writeWork(ports, {
      ...work,
      step: 'laying',
      said: `The window is open: ${work.version} is unpacked beside what runs.`,
    })
    return begin(ports)
  }
  if ((await findText(ports, LOOKED))?.trim() !== day) {
    await writeText(ports, LOOKED, `${day}\n`)
    await updateDebian(ports, window.debian)
  }
  const { reboot_required, reboot_for } = await readRestart(ports)
  if (!window.restart || !reboot_required) return
  ports.log(`The window is open, and a restart is needed: ${reboot_for.join(', ')}`)
  await ports.run('systemctl', ['reboot'])
}
