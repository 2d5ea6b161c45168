import { machinePorts, Refused, removeFile, writeText, type Ports } from './ports.ts'
import { applySeed, findSeed } from './verbs/seed.ts'

/** Is there while the first start of a machine lasts, and it has taken no seed. */
export const FIRST_START = '/run/gatehouse/first-start'
/** What the screen shows of it. */
export const SEED_SHOWN = '/run/gatehouse/seed'

/**
 * Takes the seed of a stick that was plugged in, once. What is wrong with it is shown on the screen; a stick that is
 * plugged in again is looked at again.
 */
export async function takeSeed(ports: Ports): Promise<void> {
  const show = async (lines: string): Promise<void> => {
    for (const line of lines.split('\n')) ports.log(line)
    await writeText(ports, SEED_SHOWN, `${lines}\n`)
  }
  try {
    const found = await findSeed(ports)
    if (found === undefined) return
    await applySeed(ports, found.seed)
    await removeFile(ports, FIRST_START)
    await show(`The stick ${found.label} gave: ${found.changes.join('; ')}.\nIt may be pulled out.`)
  } catch (error) {
    await show(error instanceof Refused ? error.message : `The stick could not be taken: ${String(error)}`)
  }
}

if (import.meta.main) await takeSeed(machinePorts())
