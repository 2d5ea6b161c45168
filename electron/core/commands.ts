import { openAppliance, openHome } from './answers.ts'
import type { Parts } from './parts.ts'

/** Something the program does by its menu or by a key, wherever the window is. */
export interface Command {
  readonly id: string
  readonly label: string
  /** In Electron's words: `CommandOrControl+1`. */
  readonly accelerator?: string
  readonly run: () => void
}

/** How many appliances have a key of their own. */
export const KEYED = 9

/** The commands of now: one for each of the first nine appliances, in the order of the list. */
export function commandsOf(parts: Parts): readonly Command[] {
  const { connections, words } = parts
  return [
    {
      id: 'appliances',
      label: words.now().all_appliances,
      accelerator: 'CommandOrControl+0',
      run: () => openHome(parts),
    },
    ...connections
      .list()
      .slice(0, KEYED)
      .map(({ id, name }, n) => ({
        id: `appliance-${n + 1}`,
        label: name,
        accelerator: `CommandOrControl+${n + 1}`,
        run: () => {
          if (parts.appliances.view(id).state === 'changed') openHome(parts, `#/changed?id=${id}`)
          else openAppliance(parts, id)
        },
      })),
  ]
}
