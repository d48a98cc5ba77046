//! setmaxnreg: ND producer warpgroups give registers back and NI consumer warpgroups ask for more.
//! All start with R0 per thread and go on once everybody has started.
protocol register_pool

param ND in 1..  // warpgroups that decrease
param NI in 1..  // warpgroups that increase
param R0 in 1..  // registers at launch
param D in 0..   // registers that a decreasing warpgroup keeps
param C in 1..   // registers that an increasing one wants

assume D <= R0
assume C >= R0

pool registers = (ND + NI) * R0
barrier start { arrivals: ND + NI }

role producer[w in 0..ND] {
    acquire registers R0
    sync start
    release registers R0 - D
}

role consumer[w in 0..NI] {
    acquire registers R0
    sync start
    acquire registers C - R0
}

expect deadlock: refuted
expect deadlock: proved assuming ND * (R0 - D) >= NI * (C - R0)
expect deadlock: refuted assuming ND * (R0 - D) < NI * (C - R0)
expect resources: refuted
