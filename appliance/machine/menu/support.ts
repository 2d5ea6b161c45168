import { readMedia } from '../verbs/media.ts'
import { packSupport, SUPPORT_FOLDER, writeSupport } from '../verbs/support.ts'
import type { Menu } from './context.ts'
import { choose } from './terminal.ts'

export async function support({ terminal, ports }: Menu): Promise<void> {
  const media = await readMedia(ports)
  if (media.length === 0) terminal.say('\nNo stick is in whose label begins with GATEHOUSE.')
  const places = media.map(({ label, device, file_system }) => `the stick ${label} (${device}, ${file_system})`)
  const chosen = await choose(terminal, [...places, `the folder ${SUPPORT_FOLDER}, for SSH`], 'Support bundle onto')
  const medium = media[chosen]
  const say = (step: string): void => terminal.say(`  ${step}`)
  if (medium === undefined) terminal.say(`Written: ${await packSupport(ports, SUPPORT_FOLDER, say)}`)
  else {
    const name = await writeSupport(ports, medium, say)
    terminal.say(`Written: ${name}. The stick may be pulled out.`)
  }
  terminal.say('No secrets are in it; names of people and packages are. Read it before you pass it on.')
}
