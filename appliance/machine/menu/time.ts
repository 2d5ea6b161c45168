import type { Menu } from './context.ts'
import { choose } from './terminal.ts'

export async function changeTime({ terminal, ports, ask }: Menu): Promise<void> {
  const { time } = await ask('machine.read', {})
  terminal.say(`\nTime\n\n  Now        ${ports.now().toISOString().slice(0, 19).replace('T', ' ')} UTC`)
  terminal.say(`  Zone       ${time.zone}\n  Clock      ${time.said}`)
  for (const { name, said } of time.servers) terminal.say(`  Server     ${name} ${said}`)
  const chosen = await choose(terminal, ['Zone', 'Time servers', 'Set the clock by hand'])
  if (chosen === 0) {
    const zone = await terminal.ask(`Zone, as Europe/Vienna [${time.zone}]: `)
    if (zone !== '') terminal.say((await ask('time.set', { zone })).said)
  } else if (chosen === 1) {
    const typed = await terminal.ask('Names or addresses; nothing for those of Debian: ')
    terminal.say((await ask('time.set', { servers: typed.split(/[\s,]+/).filter(Boolean) })).said)
  } else {
    const typed = await terminal.ask('Date and time in UTC, as 2026-11-26 20:15: ')
    const now = new Date(`${typed.trim().replace(' ', 'T')}Z`)
    if (Number.isNaN(now.getTime())) terminal.say('That is no date and time. Write it as 2026-11-26 20:15.')
    else terminal.say((await ask('time.set', { now: now.toISOString() })).said)
  }
}
