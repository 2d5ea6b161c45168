import { applySeed, findSeed, SEED_FILE } from '../verbs/seed.ts'
import type { Menu } from './context.ts'
import { confirm } from './terminal.ts'

/** What `gatehouse.ini` of a stick says, also after the first start. */
export async function takeSeed({ terminal, ports }: Menu): Promise<void> {
  const found = await findSeed(ports)
  if (found === undefined) {
    terminal.say(`\nNo stick whose label begins with GATEHOUSE is in that has a file ${SEED_FILE}.`)
    return
  }
  terminal.say(`\nThe stick ${found.label} gives:`)
  for (const change of found.changes) terminal.say(`  ${change}`)
  await confirm(terminal, 'This machine becomes that.')
  await applySeed(ports, found.seed)
  terminal.say('Done. The stick may be pulled out.')
}
