/** The steps of the first run after the administrator, in their order, and where each can be done later. */
export const STEPS = [
  { id: 'address', word: 'Address' },
  { id: 'repositories', word: 'Repositories' },
  { id: 'scanners', word: 'Scanners' },
  { id: 'backup', word: 'Backup' },
  { id: 'factor', word: 'Second factor' },
  { id: 'first', word: 'First package' },
] as const
export type StepId = (typeof STEPS)[number]['id']

/** The step that the address names; the first where it names none. */
export const stepOf = (name: string | undefined): StepId => STEPS.find(({ id }) => id === name)?.id ?? STEPS[0].id

export const after = (id: StepId): StepId => STEPS[STEPS.findIndex(one => one.id === id) + 1]?.id ?? 'first'
export const before = (id: StepId): StepId | undefined => STEPS[STEPS.findIndex(one => one.id === id) - 1]?.id
