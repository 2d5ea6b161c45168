/**
 * What the program shows outside of its pages: the menu, the symbol beside the clock, messages of the system. They are
 * texts of the console's catalogue: its build has them in the language of the page, which tells them to the program. In
 * them `#` stands for a number.
 */
export const WORDS = {
  appliances: 'Appliances',
  all_appliances: 'All appliances',
  edit: 'Edit',
  undo: 'Undo',
  redo: 'Redo',
  cut: 'Cut',
  copy: 'Copy',
  paste: 'Paste',
  select_all: 'Select all',
  view: 'View',
  reload: 'Reload',
  actual_size: 'Actual size',
  larger: 'Larger',
  smaller: 'Smaller',
  full_screen: 'Full screen',
  window: 'Window',
  minimize: 'Minimise',
  close: 'Close window',
  quit: 'Quit Gatehouse',
  open: 'Open Gatehouse',
  to_review: '# to review',
  unknown: 'Not asked yet',
  healthy: 'Healthy',
  degraded: 'Degraded',
  unhealthy: 'Unhealthy',
  starting: 'Starting',
  unreachable: 'Not reachable',
  changed: 'Another identity answers',
  expired: 'Certificate expired',
  wrong_name: 'Certificate of another name',
  held_one: 'A package waits for review',
  held_several: '# packages wait for review',
  deadline_one: 'A deadline ends within a day',
  deadline_several: '# deadlines end within a day',
  backup_one: 'A backup failed',
  backup_several: '# backups failed',
  sync_one: 'A synchronisation is done',
  sync_several: '# synchronisations are done',
  failed_sync_one: 'A synchronisation failed',
  failed_sync_several: '# synchronisations failed',
  and_more: 'and # more',
  not_opened: 'The link was not opened',
  save_details: 'Save details',
}
export type Word = keyof typeof WORDS
export type Words = Readonly<Record<Word, string>>

/** A word with its number. */
export const filled = (word: string, n: number): string => word.replace('#', String(n))
