"""Asks dnf what it would install: one JSON object a line in, a sorted list or null a line out. Installs nothing."""
import json
import sys

import dnf

for line in sys.stdin:
    case = json.loads(line)
    base = dnf.Base()
    conf = base.conf
    conf.installroot = case['folder'] + '/root'
    conf.cachedir = case['folder'] + '/cache'
    conf.persistdir = case['folder'] + '/persist'
    conf.logdir = case['folder']
    conf.reposdir = []
    conf.varsdir = []
    conf.substitutions['arch'] = 'x86_64'
    conf.substitutions['basearch'] = 'x86_64'
    conf.substitutions['releasever'] = '9'
    conf.install_weak_deps = case['recommends']
    base.repos.add_new_repo('r', conf, baseurl=['file://' + case['folder']])
    base.fill_sack(load_system_repo=False)
    try:
        base.install(case['root'])
        base.resolve()
        found = sorted('%s %s' % (p.name, p.evr) for p in base.transaction.install_set)
    except dnf.exceptions.Error:
        found = None
    print(json.dumps(found), flush=True)
    base.close()
