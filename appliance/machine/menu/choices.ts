import { Refused } from '../ports.ts'
import { resetFactory } from '../verbs/factory.ts'
import { hostName } from '../verbs/network-read.ts'
import type { Menu } from './context.ts'
import { changeNetwork } from './network.ts'
import { helpWithFactor, helpWithPassword, makeToken } from './people.ts'
import { restore } from './restore.ts'
import { takeSeed } from './seed.ts'
import { support } from './support.ts'
import { Back, choose, confirm } from './terminal.ts'
import { changeTime } from './time.ts'

async function factoryReset({ terminal, ports }: Menu): Promise<void> {
  const name = await hostName(ports)
  terminal.say('\nEverything is removed: packages, accounts, settings, keys, certificates, backups on this machine.')
  terminal.say('It starts anew, with another authority and another setup token. Nothing brings it back.')
  if ((await terminal.ask(`Type the name of this machine (${name}): `)) !== name) {
    terminal.say('That is another name. Nothing was done.')
    return
  }
  terminal.say('The machine is reset, and restarts.')
  await resetFactory(ports)
}

const power = (verb: 'power.restart' | 'power.off', question: string) =>
  async function change({ terminal, ask }: Menu): Promise<void> {
    await confirm(terminal, `\n${question}`)
    terminal.say((await ask(verb, {})).said)
  }

type Choice = readonly [string, (menu: Menu) => Promise<void>]
const CHOICES: readonly Choice[] = [
  ['Network', changeNetwork],
  ['Time', changeTime],
  ['Settings from a stick', takeSeed],
  ['New setup token', makeToken],
  ['New password of an admin', helpWithPassword],
  ['Remove the second factor of an admin', helpWithFactor],
  ['Restore a backup', restore],
  ['Support bundle', support],
  ['Factory reset', factoryReset],
  ['Restart', power('power.restart', 'The machine restarts.')],
  ['Power off', power('power.off', 'The machine switches itself off.')],
]

/** The menu, until nobody chooses any more. @throws Back, Gone */
export async function runMenu(menu: Menu): Promise<never> {
  const { terminal, ports } = menu
  for (;;) {
    const name = await hostName(ports)
    const chosen = await choose(
      terminal,
      CHOICES.map(([word]) => word),
      `Gatehouse on ${name}`,
    )
    try {
      await CHOICES[chosen]?.[1](menu)
    } catch (error) {
      if (error instanceof Back) continue
      if (!(error instanceof Refused)) throw error
      terminal.say(`\n${error.message}`)
    }
  }
}
